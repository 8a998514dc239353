//go:build unix

package rundir

import (
	"fmt"
	"os"
	"syscall"
)

func checkOwner(dir string, info os.FileInfo) error {
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to %d", dir, owner, os.Getuid())
	}
	return nil
}
