//go:build !linux

package gate

import "syscall"

// hungUp is not known here: the server's own watch has to do.
func hungUp(syscall.Conn) bool { return false }
