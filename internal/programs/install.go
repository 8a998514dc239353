package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"hermes.example/hermes/internal/entry"
)

// InstallInit puts hermes-init and hermes-shim under all of their names into the root of an image, and leaves none of
// it where another program has one of the names. No link in the root leads out of it.
func InstallInit(dir, arch string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot install %s: %w", Init, err)
	}
	defer root.Close()
	for _, link := range entry.Links {
		if err := free(root, link); err != nil {
			return fmt.Errorf("cannot install %s as %s: %w", path.Base(link.To), link.Name, err)
		}
	}
	for program, to := range map[Program]string{Init: entry.Init, Shim: entry.Shim} {
		data, err := program.For(arch)
		if err == nil {
			err = place(root, inside(to), data)
		}
		if err != nil {
			return fmt.Errorf("cannot install %s: %w", program, err)
		}
	}
	for _, link := range entry.Links {
		if err := point(root, link); err != nil {
			return fmt.Errorf("cannot install %s as %s: %w", path.Base(link.To), link.Name, err)
		}
	}
	return nil
}

// inside is a path of an image as one below its root.
func inside(path string) string { return strings.TrimPrefix(path, "/") }

// free says whether a name is ours to take: nobody's, or ours already.
func free(root *os.Root, link entry.Link) error {
	name := inside(link.Name)
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if to, err := root.Readlink(name); err != nil || to != link.To {
		return errors.New("another program has this name; remove it first")
	}
	return nil
}

func place(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	next := name + ".new"
	if err := root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := root.WriteFile(next, data, 0o755)
	if err == nil {
		err = root.Chmod(next, 0o755)
	}
	if err == nil {
		err = root.Rename(next, name)
	}
	return err
}

func point(root *os.Root, link entry.Link) error {
	name := inside(link.Name)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Symlink(link.To, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
