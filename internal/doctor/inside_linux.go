package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/seccomp"
)

// features is what the kernel let a process do that was started as a guest is: a
// reason against each, which is empty where it worked.
type features struct {
	Mounts, Overlay, Pidfd, Seccomp, Landlock string

	LandlockABI int
	// NoLandlock is what the kernel says where there is none.
	NoLandlock syscall.Errno
}

// Inside is the inner half of the trials. It runs in a process of its own, in
// namespaces of its own, which end with it, and tells the outer half by its output.
func Inside() error {
	if _, err := io.Copy(io.Discard, os.NewFile(3, "ready")); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setresgid(0, 0, 0), syscall.Setresuid(0, 0, 0)); err != nil {
		return fmt.Errorf("cannot become root of the namespace: %w", err)
	}
	var f features
	f.Pidfd = reason(tryPidfd())
	f.Mounts = reason(tryMounts())
	f.Overlay = reason(tryOverlay(os.TempDir()))
	// The last two bind the thread for good.
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = f.tryLandlock()
	}
	f.Landlock = reason(err)
	f.Seccomp = reason(trySeccomp())
	return json.NewEncoder(os.Stdout).Encode(f)
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func tryPidfd() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("pidfd_send_signal", unix.PidfdSendSignal(fd, 0, nil, 0))
}

// tryMounts makes a bind as roots are made of: cloned, read-only with all below it.
func tryMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// tryOverlay mounts an overlay on memory that covers dir for this process alone.
func tryOverlay(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work,userxattr", dir)
	if err := unix.Mount("overlay", filepath.Join(dir, "merged"), "overlay", 0, options); err != nil {
		return fmt.Errorf("mount overlay: %w", err)
	}
	return nil
}

// tryLandlock restricts this thread to nothing but what it needs no more.
func (f *features) tryLandlock() error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		errors.As(err, &f.NoLandlock)
		return err
	}
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: ll.AccessFSMakeChar}, 0)
	if err == nil {
		err = ll.LandlockRestrictSelf(fd, 0)
		unix.Close(fd)
	}
	if err == nil {
		f.LandlockABI = abi
	}
	return err
}

func trySeccomp() error {
	if err := seccomp.Load(0); err != nil {
		return err
	}
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err == nil && mode != unix.SECCOMP_MODE_FILTER {
		err = fmt.Errorf("the filter is loaded, but the mode is %d", mode)
	}
	return err
}
