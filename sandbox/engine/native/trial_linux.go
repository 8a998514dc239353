package native

import (
	"context"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
)

// Trial is how far a program came that was started as guests are.
type Trial struct {
	// IDs is how a sandbox's ids would relate to the host's.
	IDs string
	// Start is why there is no user namespace, Map why it has no ids, Run why
	// the program failed.
	Start, Map, Run error
	// Shift is why directories of the host's cannot be mounted for root's
	// sandboxes; nil where ids need no shift.
	Shift error
}

// Try runs cmd in user and mount namespaces of its own with the ids that a sandbox
// of the home would have. The program waits for the end of its descriptor 3, and
// may then become root.
func Try(ctx context.Context, o Options, home string, cmd *exec.Cmd) Trial {
	ids, err := (&Engine{options: o}).planIDs(sandbox.Identity{Home: home, Task: "trial"})
	if err != nil {
		return Trial{Start: err}
	}
	t := Trial{IDs: ids.Mode}
	release, err := startInNamespace(cmd, unix.CLONE_NEWUSER|unix.CLONE_NEWNS, setupCapabilities)
	if err != nil {
		t.Start = explainStart(err)
		return t
	}
	if t.Map = ids.apply(ctx, cmd.Process.Pid); t.Map != nil {
		cmd.Process.Kill()
	} else if ids.Mode == idsRange {
		t.Shift = tryShift(existing(home), cmd.Process.Pid)
	}
	release.Close()
	if err := cmd.Wait(); t.Map == nil {
		t.Run = err
	}
	return t
}

// tryShift mounts dir as a sandbox whose guest is process pid would get it.
func tryShift(dir string, pid int) error {
	tree, err := openTree(dir, pid)
	if err == nil {
		tree.Close() // a mount that is nowhere ends with its descriptor
	}
	return err
}

// existing is path, or what of it exists.
func existing(path string) string {
	for !exists(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}
