package capture

import (
	"os"
	"path/filepath"
	"strings"
)

// Reopen opens a file that holds the whole output of a command, by the path that an answer named. It is not ok if it is
// none of these. The directory may be one that commands can write to, and whoever opens it may read more than they may:
// no link is followed on the way, and a file that has a second name is somebody else's.
func Reopen(home, path string) (file *os.File, size int64, ok bool) {
	name, below := strings.CutPrefix(path, filepath.Join(home, filepath.FromSlash(Directory))+string(filepath.Separator))
	if !below || home == "" || name != filepath.Base(name) || !isSpill(name) {
		return nil, 0, false
	}
	dir, err := openDirectory(home, false)
	if err != nil {
		return nil, 0, false
	}
	defer dir.Close()
	before, err := dir.Lstat(name)
	if err != nil || !before.Mode().IsRegular() || hasOtherNames(before) {
		return nil, 0, false
	}
	if file, err = dir.Open(name); err != nil {
		return nil, 0, false
	}
	after, err := file.Stat()
	if err != nil || !os.SameFile(before, after) || hasOtherNames(after) {
		file.Close()
		return nil, 0, false
	}
	return file, after.Size(), true
}
