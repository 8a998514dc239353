package capture

import (
	"io/fs"
	"syscall"
)

// hasOtherNames says whether a file is in a directory more than once.
func hasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}
