package boot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rooted"
)

// volume is the data directory. Every path in it is resolved by the kernel without following a link, and all but
// the change of an owner is done with the service user's rights.
type volume struct {
	root *rooted.Root
	// name is its path, for messages.
	name string
	hand *asuser.Hand
}

// largest is far above any file that boot reads.
const largest = 4 << 20

// refusal is the error for a link where none may be.
func (v *volume) refusal(action, file string) error {
	return fmt.Errorf("refusing to %s %s: a link is in its place", action, path.Join(v.name, file))
}

func (v *volume) failed(action, file string, err error) error {
	// Of paths of descriptors, as /proc has them, nobody learns anything.
	var errno unix.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return fmt.Errorf("cannot %s %s: %w", action, path.Join(v.name, file), err)
}

// look opens an O_PATH descriptor of a file, as the caller's thread may. The error is os.ErrNotExist if there is
// none.
func (v *volume) look(action, file string) (fd int, st unix.Stat_t, err error) {
	fd, err = v.root.Open(file, unix.O_PATH|unix.O_NOFOLLOW)
	if err == unix.ELOOP {
		return -1, st, v.refusal(action, file)
	}
	if err == nil {
		if err = unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return -1, st, v.failed(action, file, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		unix.Close(fd)
		return -1, st, v.refusal(action, file)
	}
	return fd, st, nil
}

// absent says whether nothing is in a file's place. A link there is an error, wherever it leads.
func (v *volume) absent(action, file string) (bool, error) {
	fd, _, err := v.look(action, file)
	if err == nil {
		unix.Close(fd)
		return false, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// read returns the content of a file.
func (v *volume) read(file string) (content []byte, err error) {
	err = v.hand.Do(func() error {
		fd, st, err := v.look("read", file)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > largest {
			return v.failed("read", file, errors.New("it is not a file of a sensible size"))
		}
		again, err := rooted.Reopen(fd, unix.O_RDONLY)
		if err != nil {
			return v.failed("read", file, err)
		}
		f := os.NewFile(uintptr(again), file)
		defer f.Close()
		if content, err = io.ReadAll(io.LimitReader(f, largest)); err != nil {
			return v.failed("read", file, err)
		}
		return nil
	})
	return content, err
}

// write replaces a file, whole or not at all. Who boots holds the lease, and is alone in doing so.
func (v *volume) write(file string, content []byte, mode os.FileMode) error {
	return v.hand.Do(func() error {
		fd, _, err := v.look("write", file)
		if err == nil {
			unix.Close(fd)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		dir, base := rooted.Split(file)
		fd, err = v.root.OpenDir(dir, unix.O_NOFOLLOW)
		if err == unix.ELOOP {
			return v.refusal("write", file)
		}
		if err != nil {
			return v.failed("write", file, err)
		}
		defer unix.Close(fd)
		if err := atomicfile.WriteAlone(rooted.PathOf(fd)+"/"+base, content, mode); err != nil {
			return v.failed("write", file, err)
		}
		return nil
	})
}

// mkdir makes a directory and those above it, below the volume.
func (v *volume) mkdir(dir string) error {
	return v.hand.Do(func() error {
		for end := range len(dir) + 1 {
			if end < len(dir) && dir[end] != '/' {
				continue
			}
			if err := v.mkdirOne(dir[:end]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *volume) mkdirOne(dir string) error {
	fd, st, err := v.look("make", dir)
	if err == nil {
		unix.Close(fd)
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return v.failed("make", dir, unix.ENOTDIR)
		}
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	above, base := rooted.Split(dir)
	parent, err := v.root.Open(above, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return v.failed("make", dir, err)
	}
	defer unix.Close(parent)
	if err := unix.Mkdirat(parent, base, 0o755); err != nil && err != unix.EEXIST {
		return v.failed("make", dir, err)
	}
	return nil
}

// chmod gives a file its mode; one that is missing needs none.
func (v *volume) chmod(file string, mode uint32) error {
	return v.hand.Do(func() error {
		fd, st, err := v.look("change the mode of", file)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if st.Mode&0o7777 == mode {
			return nil
		}
		if err := unix.Chmod(rooted.PathOf(fd), mode); err != nil {
			return v.failed("change the mode of", file, err)
		}
		return nil
	})
}

// remove removes a file.
func (v *volume) remove(file string) error {
	return v.hand.Do(func() error {
		dir, base := rooted.Split(file)
		fd, err := v.root.Open(dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return v.failed("remove", file, err)
		}
		defer unix.Close(fd)
		if err := unix.Unlinkat(fd, base, 0); err != nil {
			return v.failed("remove", file, err)
		}
		return nil
	})
}
