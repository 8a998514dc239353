package faults

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
)

func TestForkBombEndsAtItsTimeout(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{Limits: sandbox.Limits{Pids: 60}})
		guest := a.guests()
		for _, line := range []string{
			`b() { b | b & b; }; b 2>/dev/null`,
			`b() { b & b & wait; }; b 2>/dev/null`,
			`trap "" TERM INT HUP; b() { setsid bash -c "trap '' TERM; $(declare -f b); b" & b; }; b 2>/dev/null`,
		} {
			o := a.try(box, sandbox.Command{Line: line, Timeout: time.Second, Grace: treeGrace})
			if o.err != nil || len(o.Survivors) > 0 {
				t.Errorf("%s: %+v %v", line, o.Result, o.err)
			}
			if out := a.must(box, "ls -d /proc/[0-9]* 2>/dev/null | wc -l"); out != "1" && !few(out, 6) {
				t.Errorf("%s: %s processes are left", line, out)
			}
			if now := a.guests(); fmt.Sprint(now) != fmt.Sprint(guest) {
				t.Fatalf("%s: the guest was %v and is %v", line, guest, now)
			}
		}
	})
}

func few(text string, most int) bool {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return err == nil && n <= most
}

// fullBox is a sandbox whose processes are all taken, for as long as a command may run. How that command ends comes
// from the channel.
func fullBox(a *arena, lasts time.Duration) (*sandbox.Sandbox, <-chan outcome) {
	a.Helper()
	box := attackBox(a, sandbox.Spec{Limits: sandbox.Limits{Pids: 60}})
	hog := make(chan outcome, 1)
	out := newWatcher()
	go func() {
		hog <- a.try(box, sandbox.Command{Argv: []string{"/tools/attack", "fill"}, Timeout: lasts, Grace: treeGrace, Stdout: out})
	}()
	out.await(a, hog)
	return box, hog
}

func TestProcessLimitIsNamedWhenItIsReached(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box, hog := fullBox(a, 5*time.Second)
		o := a.try(box, sandbox.Command{Argv: []string{"/bin/true"}})
		// A limit per user is none for the guest, and so not for a command's first process.
		if o.err != nil || o.Code != 0 && (o.Code != 126 || !strings.Contains(o.Message, "limit of processes")) {
			t.Errorf("beside the hog: %+v %v", o.Result, o.err)
		}
		if o := <-hog; o.err != nil || o.Reason != sandbox.TimedOut || len(o.Survivors) > 0 {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		a.must(box, "true")
	})
}

// A sandbox that has no room for a probe is described as it was set up, and meets no
// demand until it was tried.
func TestFullSandboxCanBeInspected(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box, hog := fullBox(a, 3*time.Second)
		posture, err := box.Posture(t.Context())
		if err != nil || posture.Untried == "" || len(posture.Facts) != len(sandbox.FactNames()) || posture.Check([]string{sandbox.FactSeccomp}) == nil {
			t.Errorf("while it is full: %+v %v", posture, err)
		}
		<-hog
		posture, err = box.Posture(t.Context())
		if err != nil || posture.Untried != "" || posture.Check([]string{sandbox.FactSeccomp, sandbox.FactCalls}) != nil {
			t.Errorf("afterwards: %+v %v", posture, err)
		}
	})
}

func TestFilledTmp(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		o := a.try(box, sandbox.Command{Line: "cat /dev/zero > /tmp/a; cat /dev/zero > /var/tmp/b; cat /dev/zero > /dev/shm/c; cat /dev/zero > /run/d; exit 6"})
		if o.err != nil || o.Code != 6 || strings.Count(o.out, "No space left") < 2 {
			t.Errorf("%+v %v\n%.300s", o.Result, o.err, o.out)
		}
		// Everything works without space there, sessions too.
		a.must(box, "echo works")
		if res, err := box.Session("s").Exec(t.Context(), sandbox.Command{Line: "export A=1; cd /usr"}); err != nil || res.Cwd != "/usr" {
			t.Errorf("%+v %v", res, err)
		}
		a.must(box, "rm /tmp/a /var/tmp/b /dev/shm/c /run/d")
	})
}

// What is in memory counts as memory; a full one must not be the end.
func TestFilledTmpWithinASmallMemoryLimit(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		for _, ephemeral := range []bool{false, true} {
			fillMemory(a, a.ensure(fmt.Sprint("t", ephemeral), sandbox.Spec{Limits: sandbox.Limits{Memory: 128 << 20}, Ephemeral: ephemeral}))
		}
	})
}

func fillMemory(a *arena, box *sandbox.Sandbox) {
	a.Helper()
	if !a.fact(box, sandbox.FactMemory).Enforced {
		a.Skip("memory cannot be limited here: ", a.fact(box, sandbox.FactMemory).Deviation)
	}
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp", "/run", "/root", "/workspace"} {
		a.try(box, sandbox.Command{Line: "head -c 300000000 /dev/zero > " + dir + "/fill"})
	}
	a.must(box, "rm /*/fill /dev/shm/fill /var/tmp/fill && echo works")
}

func TestMemoryLimit(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{Limits: sandbox.Limits{Memory: 96 << 20}})
		if !a.fact(box, sandbox.FactMemory).Enforced {
			t.Skip("memory cannot be limited here: ", a.fact(box, sandbox.FactMemory).Deviation)
		}
		guest := a.guests()
		for range 3 {
			o := a.try(box, sandbox.Command{Line: `exec bash -c 'a=x; while :; do a=$a$a; done'`, Timeout: 30 * time.Second})
			if o.err != nil || o.Reason != sandbox.OutOfMemory || o.Code != 137 {
				t.Errorf("%+v %v", o.Result, o.err)
			}
			a.must(box, "true")
		}
		if now := a.guests(); fmt.Sprint(now) != fmt.Sprint(guest) {
			t.Fatalf("the guest was %v and is %v", guest, now)
		}
	})
}

// More commands at once than the guest has descriptors for fail, and nothing else does.
func TestGuestSurvivesWithoutDescriptors(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		guest := a.guests()
		var limit unix.Rlimit
		err := unix.Prlimit(guest[0], unix.RLIMIT_NOFILE, nil, &limit)
		limit.Cur = 256
		if err == nil {
			err = unix.Prlimit(guest[0], unix.RLIMIT_NOFILE, &limit, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var done atomic.Int32
		for range 120 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				res, err := box.Exec(ctx, sandbox.Command{Line: "sleep 0.3", Stderr: io.Discard, Stdin: strings.NewReader("x"), Timeout: 10 * time.Second})
				if err == nil && res.Code == 0 {
					done.Add(1)
				}
			}()
		}
		wg.Wait()
		t.Logf("%d of 120 commands ran", done.Load())
		if now := a.guests(); fmt.Sprint(now) != fmt.Sprint(guest) {
			t.Fatalf("the guest was %v and is %v", guest, now)
		}
		if !eventually(func() bool { return a.try(box, sandbox.Command{Line: "exit 3"}).Code == 3 }) {
			t.Error("it does not recover")
		}
	})
}
