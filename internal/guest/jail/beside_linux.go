package jail

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/seccomp"
)

// settle makes a sandbox without namespaces around this process: its commands see
// the machine as its user does, but can gain nothing, and cannot reach the guest.
func settle(c Config, files map[string]*os.File) (*guest.Server, Report, error) {
	var report Report
	if err := guest.Adopt(); err != nil {
		return nil, report, err
	}
	if err := answerAt(files[ListenerFD]); err != nil {
		return nil, report, err
	}
	if c.SetGroups {
		if err := syscall.Setgroups(nil); err != nil {
			return nil, report, fmt.Errorf("cannot clear the supplementary groups: %w", err)
		}
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return nil, report, fmt.Errorf("cannot set no-new-privileges: %w", err)
	}
	ruleset, abi, landlockErr := scopeOnly()
	spawner, err := spawn.New(func() error {
		if ruleset < 0 {
			return nil
		}
		return restrictSelf(ruleset)
	})
	if err != nil {
		return nil, report, fmt.Errorf("cannot enforce Landlock: %w", err)
	}
	report.LandlockABI = abi
	if landlockErr != nil {
		report.LandlockABI, report.LandlockError = 0, landlockErr.Error()
	}
	if err := keepOwnCapabilities(spawner, c.UID); err != nil {
		return nil, report, err
	}
	if err := seccomp.LoadGuarding(unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return nil, report, err
	}
	// No command may trace the guest or read its memory and descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, report, fmt.Errorf("cannot protect the guest's memory: %w", err)
	}
	if err := spawner.Prepare(func() error { return readBack(&report) }); err != nil {
		return nil, report, err
	}
	uid, gid := c.UID, c.GID
	if uid == 0 && gid == 0 {
		uid, gid = unix.Getuid(), unix.Getgid() // commands stay who their guest is
	}
	server := guest.New(guest.Config{
		Build: c.Build, Spawner: spawner, Env: c.Env, Cwd: c.Cwd, UID: c.UID, GID: c.GID, Rlimits: limits(c),
		Spool: files[SpoolFD], Ephemeral: c.Ephemeral, Successor: c.Successor, Beside: true, Name: c.Beside.Name, StopSignal: unix.SIGTERM,
		ActAsCommand: deputy(uid, gid, ruleset),
	})
	report.Shell = server.ShellName()
	return server, report, nil
}

// answerAt makes this process the one that callers see at the other end of the door.
// Whoever called listen last is: until now that was the creator.
func answerAt(door *os.File) error {
	const waiting = 4096 // as many as net.Listen lets wait
	if err := unix.Listen(int(door.Fd()), waiting); err != nil {
		return os.NewSyscallError("listen", err)
	}
	return nil
}

// scopeOnly is a Landlock ruleset that leaves all files as they are. What it takes
// from commands comes with any ruleset: they cannot trace processes outside of it,
// nor from version 6 on signal them or reach their abstract sockets.
func scopeOnly() (fd, abi int, err error) {
	fd, abi, err = newRuleset([]string{"/"})
	if err == nil && abi < 2 {
		unix.Close(fd)
		return -1, abi, errors.New("the kernel's first version of Landlock would forbid to move files")
	}
	return fd, abi, err
}

// keepOwnCapabilities leaves commands what they would have of an engine with
// namespaces, and the guest what it needs besides, as far as its starter had it.
func keepOwnCapabilities(spawner *spawn.Spawner, uid int) error {
	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("cannot clear the ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	// Without the right to it there is nothing to drop it for: with no-new-privileges
	// no program gets what its starter has not.
	if had[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		if err := spawner.Prepare(func() error { return dropBounding(uid) }); err != nil {
			return err
		}
	}
	forGuest, forCommands := only(guestCapabilities, had), only(commandCapabilities, had)
	if err := allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&forGuest))); err != nil {
		return fmt.Errorf("cannot drop capabilities: %w", err)
	}
	return spawner.Prepare(func() error { return unix.Capset(&header, &forCommands[0]) })
}

// only is the part of a list of capabilities that was there before.
func only(list []int, had [2]unix.CapUserData) [2]unix.CapUserData {
	var kept [2]unix.CapUserData
	for _, c := range list {
		kept[c/32].Permitted |= 1 << (c % 32) & had[c/32].Permitted
	}
	for i := range kept {
		kept[i].Effective = kept[i].Permitted
	}
	return kept
}
