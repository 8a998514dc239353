//go:build unix

package docker

import (
	"os"
	"syscall"
)

// belongs says whether a directory is a user's already.
func belongs(path string, uid, gid int) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid && int(stat.Gid) == gid
}
