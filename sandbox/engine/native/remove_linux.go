package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guestbin"
	"hermes.example/hermes/internal/rundir"
)

// removeInNamespace removes a tree whose files belong to subordinate ids, as
// root of a user namespace that has them.
func removeInNamespace(ctx context.Context, ids idMap, dir string) error {
	run, err := rundir.Find()
	if err != nil {
		return err
	}
	path, err := guestbin.Extract(run, guestArch)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, "remove", dir)
	var out strings.Builder
	cmd.Stderr = &out
	caps := []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SETUID, unix.CAP_SETGID}
	release, err := startInNamespace(cmd, unix.CLONE_NEWUSER, caps)
	if err != nil {
		return explainStart(err)
	}
	mapErr := ids.apply(ctx, cmd.Process.Pid)
	release.Close()
	if mapErr != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return mapErr
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("cannot remove %s: %s", dir, strings.TrimSpace(out.String()))
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
