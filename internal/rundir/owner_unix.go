//go:build unix

package rundir

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func checkOwner(dir string, info os.FileInfo) error {
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to %d", dir, owner, os.Getuid())
	}
	return nil
}

func belongs(info os.FileInfo, uid int) bool { return int(info.Sys().(*syscall.Stat_t).Uid) == uid }

// mayMakeIn says whether the caller may make something in dir.
func mayMakeIn(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}
