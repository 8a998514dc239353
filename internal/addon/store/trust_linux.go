package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mostLinks is how many links a path may lead through, as in the kernel.
const mostLinks = 40

// resolve finds the path without links to a target, which need not exist. All directories on the way are such that
// only the caller or root can put something else in their place: from then on paths mean the same at every use.
// The target itself may not be a link: what is meant by it could be changed at any time.
func resolve(target string) (string, error) {
	if !filepath.IsAbs(target) {
		return "", errors.New("its path does not begin with /")
	}
	at, rest := "/", parts(target)
	if len(rest) == 0 {
		return "", errors.New("it is the root directory")
	}
	for links := 0; len(rest) > 0; {
		name := rest[0]
		if err := passable(at); err != nil {
			return "", err
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(rest, ".."):
			return "", fmt.Errorf("%s is not there, and its path leads up from it", next)
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(at, filepath.Join(rest...)), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at, rest = next, rest[1:]
			continue
		case len(rest) == 1:
			return "", errors.New("it is a link; name the directory itself")
		case links == mostLinks:
			return "", errors.New("too many links lead to it")
		}
		if err := ours(next, info); err != nil {
			return "", err
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		links++
		rest = append(parts(to), rest[1:]...)
	}
	return at, trusted(at)
}

// parts are the names in a path; ".." stays, because what is above is only known when one is there.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// passable says why others could replace what is in a directory. In a sticky one they cannot.
func passable(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case info.Mode()&fs.ModeSticky != 0:
		return ours(dir, info)
	}
	return closed(dir, info)
}

// trusted says why others could change what is in a directory of the store.
func trusted(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link; remove it", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return closed(dir, info)
}

func closed(dir string, info fs.FileInfo) error {
	mode := info.Sys().(*syscall.Stat_t)
	if !onlyOurs(dir, mode.Mode, int(mode.Gid)) {
		return fmt.Errorf("others can write %s (mode %04o); run \"chmod go-w %s\"", dir, info.Mode().Perm(), dir)
	}
	return ours(dir, info)
}

func ours(path string, info fs.FileInfo) error {
	if uid := owner(info); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d; run this as that user, or use another directory", path, uid)
	}
	return nil
}
