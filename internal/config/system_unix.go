//go:build unix

package config

import (
	"os"
	"syscall"
)

// isNull says whether a file is the null device, under whatever name.
func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil || info.Mode().Type() != null.Mode().Type() {
		return false
	}
	return info.Sys().(*syscall.Stat_t).Rdev == null.Sys().(*syscall.Stat_t).Rdev
}

// ours says whether a file was made by who we are, or by root, who may do everything anyhow.
func ours(info os.FileInfo) bool {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	return owner == os.Geteuid() || owner == 0
}
