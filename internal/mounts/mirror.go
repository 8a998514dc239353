package mounts

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// part is the name of a file that is being copied, beside the copies.
const part = ".part"

// mirror makes the tree at name in to the same as from, without links and special
// files. Whoever can write in from must not be able to lead it out of either tree,
// so both are only walked through their roots. What cannot be read is skipped.
func mirror(from string, to *os.Root, name string) (skipped []error, err error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	m := &mirroring{from: source, to: to, top: name}
	err = m.directory(".")
	return m.skipped, err
}

type mirroring struct {
	from, to *os.Root
	top      string
	skipped  []error
}

// directory copies one and all below it. The error is about the copy.
func (m *mirroring) directory(dir string) error {
	info, err := m.from.Stat(dir)
	if err != nil {
		m.skipped = append(m.skipped, err)
		return nil
	}
	// We have to be able to write in it, whatever its owner intended.
	if err := m.provide(dir, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	entries, err := readDir(m.from, dir)
	if err != nil {
		m.skipped = append(m.skipped, err)
	}
	var names []string
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir():
			err = m.directory(name)
		case entry.Type().IsRegular():
			err = m.file(name)
		default:
			continue
		}
		if err != nil {
			return err
		}
		names = append(names, entry.Name())
	}
	return removeOthers(m.to, filepath.Join(m.top, dir), names)
}

// provide makes a directory of the copy.
func (m *mirroring) provide(dir string, perm fs.FileMode) error {
	place := filepath.Join(m.top, dir)
	if info, err := m.to.Lstat(place); err == nil && !info.IsDir() {
		if err := m.to.Remove(place); err != nil {
			return err
		}
	}
	if err := m.to.Mkdir(place, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return m.to.Chmod(place, perm)
}

// file copies a regular file, unless the copy is the same by its size and time.
// Readers see the old one or the new one whole.
func (m *mirroring) file(name string) error {
	// It may have become a pipe since it was listed, which must not hold us up.
	in, err := m.from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		m.skipped = append(m.skipped, err)
		return nil
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	place := filepath.Join(m.top, name)
	if old, err := m.to.Lstat(place); err == nil {
		if old.Mode() == info.Mode().Perm() && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()) {
			return nil
		}
		if old.IsDir() {
			if err := m.to.RemoveAll(place); err != nil {
				return err
			}
		}
	}
	if err := m.write(in, info); err != nil {
		return err
	}
	return m.to.Rename(part, place)
}

func (m *mirroring) write(in io.Reader, info fs.FileInfo) error {
	out, err := m.to.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = m.to.Chtimes(part, info.ModTime(), info.ModTime())
	}
	return err
}

func readDir(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// removeOthers removes from a directory what is not among names.
func removeOthers(root *os.Root, dir string, names []string) error {
	entries, err := readDir(root, dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(names, entry.Name()) {
			if err := root.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
