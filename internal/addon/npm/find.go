package npm

import (
	"os"
	"path/filepath"
)

// Program is the file that a name leads to on a search path, or "". Relative directories of it lead nowhere: which
// program runs must not depend on where somebody is.
func Program(searchPath, name string) string {
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
