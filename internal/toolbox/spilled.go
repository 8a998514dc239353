package toolbox

import (
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/toolbox/capture"
)

// openSpill opens a file that holds the whole output of a command. Those lie in the home, where the sandbox need not see
// them. It is not ok if the path is none of these, and then it is one of the sandbox.
func (t *Toolbox) openSpill(path string) (*os.File, int64, bool) {
	name, ok := strings.CutPrefix(path, filepath.Join(t.home, filepath.FromSlash(capture.Directory))+string(filepath.Separator))
	if !ok || t.home == "" || name != filepath.Base(name) {
		return nil, 0, false
	}
	dir, err := os.OpenRoot(filepath.Join(t.home, filepath.FromSlash(capture.Directory)))
	if err != nil {
		return nil, 0, false
	}
	defer dir.Close()
	// The directory may be one that commands can write to: a link in it is not followed.
	before, err := dir.Lstat(name)
	if err != nil || !before.Mode().IsRegular() {
		return nil, 0, false
	}
	file, err := dir.Open(name)
	if err != nil {
		return nil, 0, false
	}
	if after, err := file.Stat(); err != nil || !os.SameFile(before, after) {
		file.Close()
		return nil, 0, false
	}
	return file, before.Size(), true
}
