//go:build !unix

package doctor

import "os/exec"

func endWholeTree(*exec.Cmd) {}
