//go:build !linux

package install

import "os/exec"

// runTree runs a command. Add-ons are for Linux; elsewhere only the program itself is ended.
func runTree(cmd *exec.Cmd) error { return cmd.Run() }
