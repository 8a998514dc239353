package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/rmtree"
)

// Commit says which changes go from one upper directory of an overlay to another. Both
// lie over the same lower ones, the topmost first.
type Commit struct {
	From, To string
	Lower    []string
	Paths    []string
}

// RunCommit carries a Commit out as root of a user namespace.
func RunCommit(text string) error {
	var c Commit
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if err := awaitIDs(); err != nil {
		return err
	}
	return c.Apply()
}

// Apply makes each path in To what it is in From. Nobody uses To meanwhile; a path is
// there whole or not at all.
func (c Commit) Apply() error {
	for _, p := range c.Paths {
		if err := c.apply(p); err != nil {
			return fmt.Errorf("cannot commit %s: %w", p, err)
		}
	}
	return nil
}

func (c Commit) apply(rel string) error {
	if rel != path.Clean(rel) || path.IsAbs(rel) || rel == "." || strings.HasPrefix(rel, "..") {
		return errors.New("it is no path of a change")
	}
	if err := c.makeParents(path.Dir(rel)); err != nil {
		return err
	}
	from, to := path.Join(c.From, rel), path.Join(c.To, rel)
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	half := path.Join(path.Dir(c.To), "committing") // where no sandbox looks
	if err := rmtree.Remove(half); err != nil {
		return err
	}
	if unpack.IsWhiteout(&st) {
		if err := unix.Mknod(half, unix.S_IFCHR, 0); err != nil {
			return err
		}
	} else {
		copier := copier{links: make(map[inode]string), marks: true}
		if err := copier.entry(from, half); err != nil {
			return errors.Join(err, rmtree.Remove(half))
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			// What the other one has below must not show through.
			if err := makeOpaque(half); err != nil {
				return errors.Join(err, rmtree.Remove(half))
			}
		}
	}
	if err := rmtree.Remove(to); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// makeParents makes the directories above a path, as the layers below have them.
func (c Commit) makeParents(dir string) error {
	if dir == "." {
		return nil
	}
	if err := c.makeParents(path.Dir(dir)); err != nil {
		return err
	}
	to := path.Join(c.To, dir)
	var st unix.Stat_t
	switch err := unix.Lstat(to, &st); {
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return nil
	case err == nil:
		return fmt.Errorf("there is no directory %s any more in the original", dir)
	case err != unix.ENOENT:
		return err
	}
	for _, layer := range append([]string{c.From}, c.Lower...) {
		like := path.Join(layer, dir)
		if unix.Lstat(like, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			if err := os.Mkdir(to, 0o700); err != nil {
				return err
			}
			return copyMeta(like, to, &st)
		}
	}
	return fmt.Errorf("nobody has the directory %s", dir)
}
