package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// removeInNamespace removes what is in a directory whose files belong to subordinate
// ids, as root of a user namespace that has them.
func removeInNamespace(ctx context.Context, ids idMap, dir string) error {
	caps := []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SETUID, unix.CAP_SETGID}
	if _, err := runInNamespace(ctx, ids, caps, nil, "remove", dir); err != nil {
		return fmt.Errorf("cannot remove %s: %w", dir, err)
	}
	return nil
}

// startInNamespace starts cmd in namespaces of its own, the user's among them. Its
// ids are given to it afterwards, and release is closed to say so: the program waits
// for the end of its descriptor 3.
func startInNamespace(cmd *exec.Cmd, flags uintptr, caps []uintptr) (release *os.File, err error) {
	ready, release, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	cmd.ExtraFiles = []*os.File{ready}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, AmbientCaps: caps}
	if err := cmd.Start(); err != nil {
		release.Close()
		return nil, err
	}
	return release, nil
}
