package cgroup

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Interface files go through plain system calls: os.OpenFile would register each
// with the poller (kernfs files can be polled), which costs more than the work.

func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

func openRaw(path string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
}

func writeFile(path, value string) error {
	fd, err := openRaw(path, unix.O_WRONLY)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if _, err := retry(func() (int, error) { return unix.Write(fd, []byte(value)) }); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

func readFile(path string) (string, error) {
	fd, err := openRaw(path, unix.O_RDONLY)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 4096)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return "", &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return string(buf), nil
		}
		buf = buf[:len(buf)+n]
	}
}

func openFile(path string, flags int) (*os.File, error) {
	fd, err := openRaw(path, flags)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func mkdir(path string) error {
	_, err := retry(func() (struct{}, error) { return struct{}{}, unix.Mkdir(path, 0o755) })
	if err != nil {
		return &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

func rmdir(path string) error {
	_, err := retry(func() (struct{}, error) { return struct{}{}, unix.Rmdir(path) })
	if err != nil {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// writable asks with the effective ids; it also sees a read-only mount.
func writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

func exists(path string) bool {
	return unix.Access(path, unix.F_OK) == nil
}

// subgroups returns the directories right below dir; none when dir is gone.
func subgroups(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}
