package local_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"hermes.example/hermes/sandbox"
)

func socketRemoved(t *testing.T) {
	endsItsRun(t, func(a *arena) string { return a.socket("own") })
}

func stateRemoved(t *testing.T) {
	endsItsRun(t, func(a *arena) string { return filepath.Join(own(a.id("own"), sandbox.Spec{}), "state.json") })
}

// endsItsRun lets a command remove a file that its sandbox is found by: the next caller has a sandbox that works,
// and of the guest that cannot be found any more nothing is left.
func endsItsRun(t *testing.T, file func(*arena) string) {
	t.Helper()
	a := newArena(t)
	box := a.box("own")
	a.says(box, "sleep 1000 >/dev/null 2>&1 & rm "+quote(file(a)))
	box.Close()
	if got := a.says(a.box("own"), "echo well"); got != "well" {
		t.Errorf("the next one says %q", got)
	}
	if left := guests(t); len(left) != 1 {
		t.Errorf("there are %d guests: %q", len(left), left)
	}
}

// A command that writes another process into its sandbox's state does not get it ended.
func stateForged(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	bystander := exec.Command("sleep", "300")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bystander.Wait() }()
	defer bystander.Process.Kill()
	state := filepath.Join(own(a.id("own"), sandbox.Spec{}), "state.json")
	if got := a.attacks(box, "forge", state, strconv.Itoa(bystander.Process.Pid)); got != "done" {
		t.Fatal(got)
	}
	box.Close()
	if err := a.manager.Remove(t.Context(), a.id("own"), false); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the bystander was ended: %v", err)
	default:
	}
	if left := guests(t); len(left) > 0 {
		t.Errorf("the guest is left: %q", left)
	}
}
