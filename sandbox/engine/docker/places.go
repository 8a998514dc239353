package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/moby/moby/api/types/mount"
)

// checkPlaces refuses a mount whose place in another one is taken by something else.
// Commands can put links there, and the daemon would follow them: what is mounted would
// be elsewhere in the sandbox than was asked for.
func (m *making) checkPlaces() error {
	all := m.mounts()
	for _, b := range all {
		if b.Type != mount.TypeBind {
			continue
		}
		source, err := os.Stat(b.Source)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot mount %s: it does not exist", b.Source)
		}
		if err != nil {
			return fmt.Errorf("cannot mount %s: %w", b.Source, err)
		}
		over, ok := above(all, b.Target)
		if !ok {
			continue
		}
		if err := taken(over, strings.TrimPrefix(b.Target, over.Target+"/"), source.IsDir()); err != nil {
			return fmt.Errorf("cannot mount %s at %s: %w", b.Source, b.Target, err)
		}
	}
	return nil
}

// above finds the mount in which a target has its place.
func above(all []mount.Mount, target string) (found mount.Mount, ok bool) {
	for _, m := range all {
		if m.Type == mount.TypeBind && strings.HasPrefix(target, m.Target+"/") && len(m.Target) > len(found.Target) {
			found, ok = m, true
		}
	}
	return found, ok
}

// taken looks at every step of the way to a place. What is missing the daemon makes.
func taken(over mount.Mount, place string, directory bool) error {
	root, err := os.OpenRoot(over.Source)
	if err != nil {
		return err
	}
	defer root.Close()
	steps := strings.Split(place, "/")
	for i := range steps {
		step := path.Join(steps[:i+1]...)
		found, err := root.Lstat(step)
		if err != nil {
			return nil
		}
		needed := fs.ModeDir
		if i == len(steps)-1 && !directory {
			needed = 0
		}
		if kind := found.Mode().Type(); kind != needed {
			return fmt.Errorf("%s is %s where %s is needed; remove it, or mount elsewhere", path.Join(over.Target, step), kindName(kind), kindName(needed))
		}
	}
	return nil
}

func kindName(kind fs.FileMode) string {
	switch kind {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a link"
	case 0:
		return "a file"
	}
	return "a special file"
}
