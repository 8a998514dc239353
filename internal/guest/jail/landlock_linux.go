package jail

import (
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights over files, by the version that brought them.
const (
	readRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsV1   = readRights | ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym
	// What makes sense on a file that is not a directory.
	fileRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// newRuleset says, as a second wall behind the mounts, that only the writable
// places of the sandbox can be written, and from version 6 on that no signal and
// no abstract socket leaves it. Returns -1 where the kernel has no Landlock.
func newRuleset(writable []string) (fd, abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return -1, 0, fmt.Errorf("the kernel has no Landlock: %v", err)
	}
	handled := uint64(rightsV1)
	if abi >= 2 {
		handled |= ll.AccessFSRefer
	}
	if abi >= 3 {
		handled |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		handled |= ll.AccessFSIoctlDev
	}
	attr := ll.RulesetAttr{HandledAccessFS: handled}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	fd, err = ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return -1, abi, fmt.Errorf("cannot create a Landlock ruleset: %w", err)
	}
	err = allow(fd, "/", handled&readRights)
	for _, path := range writable {
		if err == nil {
			err = allow(fd, path, handled)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, abi, err
	}
	return fd, abi, nil
}

func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot make a Landlock rule for %s: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("cannot make a Landlock rule for %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0); err != nil {
		return fmt.Errorf("cannot make a Landlock rule for %s: %w", path, err)
	}
	return nil
}

// restrictSelf binds the calling thread and what it starts to the ruleset.
func restrictSelf(ruleset int) error { return ll.LandlockRestrictSelf(ruleset, 0) }
