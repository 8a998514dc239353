package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// List returns the names of the profiles, sorted, without the default one. What stands in their directory and looks
// like a profile but can be none is in odd, one sentence each.
func (h *Home) List() (names, odd []string, err error) {
	err = h.below(directory, func(dir int) error {
		entries, err := entries(dir)
		if err != nil {
			return err
		}
		for _, name := range entries {
			switch why := judge(dir, name); why {
			case "":
				names = append(names, name)
			case nothing:
			default:
				if len(odd) < mostOdd {
					odd = append(odd, fmt.Sprintf("%q is no profile: %s", filepath.Join(h.Root, directory, name), why))
				}
			}
		}
		return nil
	})
	if gone(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the profiles: %w", err)
	}
	return names, odd, nil
}

// Real says whether there is a profile of this name: a directory with its mark.
func (h *Home) Real(name string) (real bool, err error) {
	if name == Default {
		return true, nil
	}
	err = h.in(name, func(dir int) error {
		real = marked(dir)
		return nil
	})
	if gone(err) {
		return false, nil
	}
	return real, err
}

// Gone says whether the profile's directory is not there. An error is no answer: the volume may be away for a moment.
func (h *Home) Gone(name string) (bool, error) {
	err := h.in(name, func(int) error { return nil })
	if gone(err) {
		return true, nil
	}
	return false, err
}

// Who owns the directory can fill it without end: so much of it is looked at, and so many oddities are told.
const (
	mostEntries = 16 << 10
	mostOdd     = 20
)

// entries are the names in a directory.
func entries(dir int) ([]string, error) {
	again, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), directory)
	defer f.Close()
	names, err := f.Readdirnames(mostEntries)
	if err == io.EOF {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// nothing is judge's word for an entry that does not even look like a profile.
const nothing = "-"

// judge says why an entry of the profiles' directory is none, or "" if it is one.
func judge(dir int, name string) string {
	if strings.HasPrefix(name, ".") {
		return nothing
	}
	sub, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(sub)
	var st unix.Stat_t
	if err := unix.Fstat(sub, &st); err != nil {
		return err.Error()
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return errLink.Error()
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return nothing
	case name == Default:
		return "the default profile is the home itself"
	case !marked(sub):
		return nothing
	}
	if err := Check(name); err != nil {
		return err.Error()
	}
	return ""
}

// marked says whether a directory has the mark. The mark itself may be anything: nobody reads it here.
func marked(dir int) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, Mark, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
