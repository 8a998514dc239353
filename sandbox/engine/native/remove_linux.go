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
	ready, release, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.CommandContext(ctx, path, "remove", dir)
	cmd.ExtraFiles = []*os.File{ready}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER,
		AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SETUID, unix.CAP_SETGID}}
	var out strings.Builder
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		release.Close()
		return explainStart(err)
	}
	mapErr := ids.apply(ctx, cmd.Process.Pid)
	release.Close() // the guest waits for it
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
