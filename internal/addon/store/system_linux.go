package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
)

// syncAll waits until everything on the file system of a directory is on the disk. A generation has ten thousand
// files, and one call for each would take minutes.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		if err := unix.Syncfs(int(d.Fd())); err != unix.EINTR {
			return os.NewSyscallError("syncfs", err)
		}
	}
}

// flock locks a file without waiting, for as long as it is open.
func flock(path string, exclusive bool) (*os.File, error) {
	// NFS takes a lock for a range of bytes, and gives an exclusive one only to whoever can write.
	how, open := unix.LOCK_SH, os.O_RDONLY
	if exclusive {
		how, open = unix.LOCK_EX, os.O_RDWR
	}
	f, err := os.OpenFile(path, open|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err {
		case nil:
			return f, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			f.Close()
			return nil, errInUse
		default:
			f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
	}
}

// noLocks says whether a lock failed because the file system has none.
func noLocks(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

// cannotLink says whether a hard link failed although a copy would do.
func cannotLink(err error) bool {
	return errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EOPNOTSUPP)
}

// removeTree removes a tree whose directories nobody may write.
func removeTree(path string) error { return rmtree.Remove(path) }

func owner(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
