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

// InstallInit puts hermes-init under all of its names into the root of an image, and leaves none of it where another
// program has one of the names. No link in the root leads out of it.
func InstallInit(dir, arch string) error {
	data, err := Init.For(arch)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot install %s: %w", Init, err)
	}
	defer root.Close()
	for _, link := range entry.Links {
		if err := free(root, inside(link)); err != nil {
			return fmt.Errorf("cannot install %s as %s: %w", Init, link, err)
		}
	}
	if err := place(root, inside(entry.Init), data); err != nil {
		return fmt.Errorf("cannot install %s: %w", Init, err)
	}
	for _, link := range entry.Links {
		if err := point(root, inside(link)); err != nil {
			return fmt.Errorf("cannot install %s as %s: %w", Init, link, err)
		}
	}
	return nil
}

// inside is a path of an image as one below its root.
func inside(path string) string { return strings.TrimPrefix(path, "/") }

// free says whether a name is ours to take: nobody's, or ours already.
func free(root *os.Root, name string) error {
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if to, err := root.Readlink(name); err != nil || to != entry.Init {
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

func point(root *os.Root, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Symlink(entry.Init, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
