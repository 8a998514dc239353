// Package atomicfile writes files that must survive a crash: whoever reads one
// finds the old content or the new content, whole.
//
// Everything durable goes through Write; what only has to be whole for other
// processes, because it means nothing after a restart of the machine, goes
// through Replace. Neither may leave its temporary file behind when it fails.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with data, and returns when that will survive
// a crash of the machine.
func Write(path string, data []byte, mode os.FileMode) error {
	return write(path, data, mode, true)
}

// Replace replaces the file at path with data for all processes at once, but
// does not wait for the disk.
func Replace(path string, data []byte, mode os.FileMode) error {
	return write(path, data, mode, false)
}

// WriteAlone is Write for a file that has one writer at a time, as a lock of that one's makes sure. It stages the
// content under a name that is always the same, so that the next write takes away what a crash left there.
func WriteAlone(path string, data []byte, mode os.FileMode) error {
	return writeBy(path, data, mode, true, func(string) (*os.File, error) { return stageAlone(path) })
}

func stageAlone(path string) (*os.File, error) {
	if err := Sweep(path); err != nil {
		return nil, err
	}
	return os.OpenFile(staged(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Prepare is the first half of WriteAlone, for who has many files to bring to the disk and does that with all of them
// at once. Nothing has changed until Commit.
func Prepare(path string, data []byte, mode os.FileMode) error {
	f, err := stageAlone(path)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Chmod(mode), f.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// Commit replaces the file at path with what was prepared, which is on the disk by now. That it was replaced survives
// a crash once the directory was synchronised.
func Commit(path string) error { return os.Rename(staged(path), path) }

// Sweep takes away what a crash of WriteAlone left beside path. Only its one writer may call it.
func Sweep(path string) error {
	if err := os.Remove(staged(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func staged(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".staged")
}

// Read returns what is in a file that this package wrote. Something else under its
// name, be it a pipe that nobody writes to, is an error and never waited for.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot read %s: it is not a file", path)
	}
	if info.Size() > largest {
		return nil, fmt.Errorf("cannot read %s: it is too large", path)
	}
	return io.ReadAll(io.LimitReader(f, largest))
}

// largest is far above anything that is kept in one file.
const largest = 64 << 20

func write(path string, data []byte, mode os.FileMode, durable bool) error {
	return writeBy(path, data, mode, durable, func(dir string) (*os.File, error) {
		return os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	})
}

func writeBy(path string, data []byte, mode os.FileMode, durable bool, stage func(dir string) (*os.File, error)) (err error) {
	dir := filepath.Dir(path)
	f, err := stage(dir)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if durable {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return SyncDir(dir)
}

// SyncDir makes the renames in dir durable. Some file systems cannot, and say so.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !unsupported(err) {
		return err
	}
	return nil
}
