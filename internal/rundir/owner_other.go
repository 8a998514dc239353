//go:build !unix

package rundir

import "os"

func checkOwner(string, os.FileInfo) error { return nil }
