//go:build linux

package rooted

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// batch is how many names of a directory are in memory at a time.
const batch = 1024

// Each calls do with each entry of a directory that is open: an O_PATH descriptor, which is Each's to close, and
// its name after the prefix, which errors have too. What is removed meanwhile is passed over.
func Each(fd int, prefix string, do func(fd int, name string, st *unix.Stat_t) error) error {
	open, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%.200q: %w", prefix, err)
	}
	dir := os.NewFile(uintptr(open), prefix)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := entry(open, name, prefix, do); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%.200q: %w", prefix, err)
		}
	}
}

func entry(dir int, base, prefix string, do func(int, string, *unix.Stat_t) error) error {
	fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	name := prefix + base
	if err != nil {
		return fmt.Errorf("%.200q: %w", name, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("%.200q: %w", name, err)
	}
	return do(fd, name, &st)
}
