package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/addon/manifest"
)

// Adopt takes files of a generation, by their paths in it, over into what is staged, by hard links where that can be
// done. It comes after the installer: what writes to a link's file writes to the generation. That the files are still
// what the generation's manifest says is checked when they are published, because they are read then anyway.
func (w *Writer) Adopt(staged Staged, from Generation, files []manifest.File) error {
	adopted := w.adopted[staged.Dir]
	if adopted == nil {
		adopted = make(map[string]manifest.File, len(files))
		w.adopted[staged.Dir] = adopted
	}
	made := ""
	for _, f := range files {
		if !fs.ValidPath(f.Path) {
			return fmt.Errorf("cannot take over %q: that is no path below a directory", f.Path)
		}
		src, dst := filepath.Join(from.Dir, f.Path), filepath.Join(staged.Dir, f.Path)
		if dir := filepath.Dir(dst); dir != made {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("cannot take over %s: %w", f.Path, err)
			}
			made = dir
		}
		err := takeOver(src, dst)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was removed after it was installed; rebuild the features: %w", f.Path, err)
		}
		if err != nil {
			return fmt.Errorf("cannot take over %s: %w", f.Path, err)
		}
		adopted[f.Path] = f
	}
	return nil
}

func takeOver(src, dst string) error {
	err := os.Link(src, dst)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		// Distributions of one namespace bring the same file, or they do not fit together.
		equal, err := sameContent(src, dst)
		if err == nil && !equal {
			err = errors.New("two distributions have it, and differ")
		}
		return err
	case cannotLink(err):
		return copyFile(src, dst)
	}
	return err
}

// copyFile keeps the time of the file, by which Python knows whether what it compiled is up to date.
func copyFile(src, dst string) (err error) {
	info, err := os.Lstat(src)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", src)
	}
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = cmp.Or(err, to.Close()); err != nil {
		return err
	}
	return os.Chtimes(dst, info.ModTime(), info.ModTime())
}

func sameContent(a, b string) (bool, error) {
	one, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	other, err := os.ReadFile(b)
	return bytes.Equal(one, other), err
}
