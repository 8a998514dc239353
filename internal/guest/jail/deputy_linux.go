package jail

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// deputy returns what makes the calling thread act with the rights of a command: its
// Landlock rules, its user's rights over files, and its capabilities or, for an
// ordinary user, none.
//
// The thread keeps the guest's other ids, so that no command of that user may signal
// it; over files the ids that count are those set here.
func deputy(uid, gid, ruleset int) func() error {
	return func() error {
		if ruleset >= 0 {
			if err := restrictSelf(ruleset); err != nil {
				return fmt.Errorf("cannot enforce Landlock: %w", err)
			}
		}
		if err := takeFileIDs(uid, gid); err != nil {
			return err
		}
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var keep [2]unix.CapUserData
		if uid == 0 {
			var had [2]unix.CapUserData
			if err := unix.Capget(&header, &had[0]); err != nil {
				return fmt.Errorf("cannot read the capabilities: %w", err)
			}
			keep = only(commandCapabilities, had)
		}
		if err := unix.Capset(&header, &keep[0]); err != nil {
			return fmt.Errorf("cannot drop capabilities: %w", err)
		}
		return nil
	}
}

// takeFileIDs sets whose rights over files the thread has. The calls tell of no
// failure, but the second of each answers with the id that is set.
func takeFileIDs(uid, gid int) error {
	for _, id := range []struct {
		call uintptr
		id   int
	}{{unix.SYS_SETFSGID, gid}, {unix.SYS_SETFSUID, uid}} {
		unix.RawSyscall(id.call, uintptr(id.id), 0, 0)
		if now, _, _ := unix.RawSyscall(id.call, ^uintptr(0), 0, 0); int(now) != id.id {
			return errors.New("cannot take the rights of the sandbox's user")
		}
	}
	// Where fs.suid_dumpable is 1 the kernel has just opened the guest's memory to
	// processes of the same user.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot protect the guest's memory: %w", err)
	}
	return nil
}
