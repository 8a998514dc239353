package s6

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/supervise"
)

// internals are slots of supervisors themselves, which nobody but root may control.
var internals = []string{"s6rc-", "s6-linux-"}

// Repair lets the user control the static slots of a foreign image's root scanner, in the directory that holds them:
// s6 makes them for its own user only. It is given to the user's group and not to the user: root's s6-supervise
// writes its status there, and would write wherever a link of the user's leads. That there is no such directory is
// no error, and a slot that cannot be repaired keeps no other from it.
func Repair(dir string, u supervise.User) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot repair the slots in %s: %w", dir, err)
	}
	defer unix.Close(fd)
	var failed []error
	err = rooted.Each(fd, "", func(slot int, name string, st *unix.Stat_t) error {
		if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != 0 || strings.HasPrefix(name, ".") || internal(name) {
			return nil
		}
		if err := repairSlot(slot, u.GID); err != nil {
			failed = append(failed, fmt.Errorf("cannot repair the slot %s: %w", name, err))
		}
		return nil
	})
	return errors.Join(append(failed, err)...)
}

func internal(name string) bool {
	for _, prefix := range internals {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// repairSlot opens one slot to a group. What is not there yet is left to s6-supervise.
func repairSlot(slot, gid int) error {
	root := rooted.New(slot, rooted.NoLinks) // not closed: the descriptor is the caller's
	for _, entry := range []struct {
		path string
		kind uint32
		mode os.FileMode
	}{
		{"supervise", unix.S_IFDIR, 0o710},
		{controlFIFO, unix.S_IFIFO, 0o660},
		{"event", unix.S_IFDIR, eventMode},
	} {
		fd, err := root.Open(entry.path, unix.O_PATH|unix.O_NOFOLLOW)
		if err == unix.ENOENT {
			continue
		}
		if err == nil {
			err = openTo(fd, entry.kind, gid, entry.mode)
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", entry.path, err)
		}
	}
	return nil
}

// openTo gives the very file that a descriptor stands for to a group.
func openTo(fd int, kind uint32, gid int, mode os.FileMode) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != kind {
		return errors.New("it is something else than s6 makes")
	}
	if err := unix.Fchownat(fd, "", -1, gid, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	return os.Chmod(rooted.PathOf(fd), mode)
}
