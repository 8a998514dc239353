package jail

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/unpack"
)

// Change is a path below a directory with changes, and what it stands for.
type Change struct {
	Path           string
	Added, Deleted bool // neither: it was changed
}

// PrintChanges prints the Changes in the directory upper to what the directories lower
// hold, the topmost first, as root of a user namespace.
func PrintChanges(upper string, lower []string) error {
	if err := awaitIDs(); err != nil {
		return err
	}
	changes, err := Changes(upper, lower)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(changes)
}

// Changes lists what the directory upper of an overlay changes. A directory that is
// only there to hold changes is not one, and neither is what lies in a new directory.
func Changes(upper string, lower []string) ([]Change, error) {
	changes := []Change{}
	err := filepath.WalkDir(upper, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && at == upper {
			return nil
		}
		rel, relErr := filepath.Rel(upper, at)
		if err != nil || relErr != nil || rel == "." {
			return errors.Join(err, relErr)
		}
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return err
		}
		below := kindBelow(rel, lower)
		c := Change{Path: rel, Added: below == 0, Deleted: unpack.IsWhiteout(&st)}
		kind := st.Mode & unix.S_IFMT
		switch {
		case kind == unix.S_IFDIR && below == unix.S_IFDIR && !isOpaque(at):
			return nil // look inside
		case c.Deleted && below == 0:
			return nil // it came and went
		}
		changes = append(changes, c)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return changes, err
}

// kindBelow is what kind of file the layers below show at a path, or 0 for none.
func kindBelow(rel string, lower []string) uint32 {
	for _, dir := range lower {
		var st unix.Stat_t
		at := path.Join(dir, rel)
		if unix.Lstat(at, &st) == nil {
			if unpack.IsWhiteout(&st) {
				return 0
			}
			return st.Mode & unix.S_IFMT
		}
		if hides(dir, rel) {
			return 0
		}
	}
	return 0
}

// hides says whether a layer hides what those below it have at a path.
func hides(dir, rel string) bool {
	for above := path.Dir(rel); above != "."; above = path.Dir(above) {
		var st unix.Stat_t
		at := path.Join(dir, above)
		if unix.Lstat(at, &st) == nil && (st.Mode&unix.S_IFMT != unix.S_IFDIR || isOpaque(at)) {
			return true
		}
	}
	return false
}
