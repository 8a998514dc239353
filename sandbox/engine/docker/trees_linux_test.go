package docker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// TestTreesOfOtherUsers ends commands whose processes have become another user and do
// everything to get away. The guest is root, but has not the right to signal others:
// the contract does not give it.
func TestTreesOfOtherUsers(t *testing.T) {
	program := build(t, "tree", "hermes.example/hermes/test/faults/tree")
	onEachDaemon(t, func(t *testing.T, a *arena) {
		box := a.box(containers.Busybox, func(s *sandbox.Spec) {
			s.Mounts = []sandbox.Mount{{Source: program, Target: "/tree", ReadOnly: true}}
		})
		const kill = 1 << 5
		if got := a.says(box, "grep CapBnd /proc/1/status"); parseMask(t, got)&kill != 0 {
			t.Fatalf("not shown: the guest may signal everybody: %s", got)
		}
		a.says(box, "sleep 1000 >/dev/null 2>&1 &")
		for i, flags := range []string{
			"uid", "uid,stop", "uid,thread,ignore", "setsid,clear,uid,ignore", "setsid,clear,uid,hide,ignore,limits",
			"setsid,clear,uid,chain,ignore,hide", "sibling,setsid,clear,ignore", "setsid,clear,uid,ignore,main",
		} {
			name := fmt.Sprintf("d%x.%d", os.Getpid(), i)
			run := sandbox.Command{Argv: []string{"/tree", name, flags}, Grace: 50 * time.Millisecond}
			t.Run(flags+" by its caller", func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ends(t, box, ctx, cancel, run, sandbox.Interrupted)
			})
			t.Run(flags+" by its time", func(t *testing.T) {
				timed := run
				timed.Timeout = 1500 * time.Millisecond
				ends(t, box, t.Context(), func() {}, timed, sandbox.TimedOut)
			})
		}
		if got := a.says(box, "pidof sleep | wc -w"); got != "1" {
			t.Errorf("of another command's processes %s are left", got)
		}
		name := fmt.Sprintf("d%x.r", os.Getpid())
		a.says(box, "/tree "+name+" setsid,clear,uid,ignore,hide,return >/dev/null 2>&1")
		if !lives(t, name) {
			t.Fatal("not shown: the process that is to go with its sandbox does not live")
		}
		if err := a.manager.Remove(t.Context(), a.id(), true); err != nil {
			t.Fatal(err)
		}
		if lives(t, name) {
			t.Error("a process is left of a sandbox that was removed")
		}
	})
}

// ends runs a tree, has it ended when it stands, and looks for what is left of it.
func ends(t *testing.T, box *sandbox.Sandbox, ctx context.Context, ready func(), c sandbox.Command, why sandbox.Reason) {
	t.Helper()
	out := &readyThen{f: ready}
	c.Stdout = out
	result, err := box.Exec(ctx, c)
	if err != nil || result.Reason != why || len(result.Survivors) > 0 || !strings.Contains(out.String(), "ready") {
		t.Errorf("it ends with %+v, %v: %s", result, err, out)
	}
	for range 20 { // one that forks and ends is between two at most looks
		if lives(t, c.Argv[1]) {
			t.Fatal("a process is left")
		}
	}
}

// lives says whether the machine has a process of that name: what is in a container is
// its own process, too.
func lives(t *testing.T, name string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if comm, _ := os.ReadFile(file); strings.TrimSpace(string(comm)) == name {
			return true
		}
	}
	return false
}

// parseMask reads a set of capabilities as the kernel prints it.
func parseMask(t *testing.T, line string) (mask uint64) {
	t.Helper()
	if _, err := fmt.Sscanf(line, "CapBnd: %x", &mask); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return mask
}

// readyThen calls f when the program says that it is ready.
type readyThen struct {
	strings.Builder
	f func()
}

func (w *readyThen) Write(p []byte) (int, error) {
	n, err := w.Builder.Write(p)
	if strings.Contains(w.String(), "ready") {
		w.f()
	}
	return n, err
}
