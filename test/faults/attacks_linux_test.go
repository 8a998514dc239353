package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

// attempt is a line of the attack program.
type attempt struct {
	Name  string
	Errno int
	Text  string
}

func parseAttempts(t testing.TB, out string) map[string]attempt {
	t.Helper()
	all := make(map[string]attempt)
	for line := range strings.Lines(out) {
		var a attempt
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("cannot read %q of\n%s", line, out)
		}
		all[a.Name] = a
	}
	return all
}

// attackBox is a sandbox with the attack program in it.
func attackBox(a *arena, spec sandbox.Spec) *sandbox.Sandbox {
	a.Helper()
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: program(a, "attack"), Target: "/tools/attack", ReadOnly: true})
	return a.ensure("attacked", spec)
}

// control makes the same attempts as root on a PID 1 that nothing protects.
func control(t testing.TB) map[string]attempt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, "attack"), "init")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("the control failed: %v\n%s%s", err, errors.String(), out.String())
	}
	return parseAttempts(t, out.String())
}

// answers are the errnos with which an attempt may be refused. What is not listed
// has to be EPERM, EACCES or EROFS.
var answers = map[string][]syscall.Errno{
	"kcmp": {syscall.EPERM, syscall.ENOSYS},
	// The kernel gives /proc/1 to root of the sandbox. Which descriptors and
	// mappings there are can be listed; what they are cannot be read or opened.
	"list /proc/1/fd":                           {0, syscall.EPERM, syscall.EACCES},
	"list /proc/1/map_files":                    {0, syscall.EPERM, syscall.EACCES},
	"list a thread's fd":                        {0, syscall.EPERM, syscall.EACCES},
	"find a socket in the file system":          {syscall.ENOENT},
	"replace the socket":                        {syscall.ENOENT},
	"find a listening socket in /proc/net/unix": {syscall.ECONNREFUSED},
	"write /proc/sys/net/ipv4/ip_forward":       {syscall.EROFS, syscall.EPERM, syscall.EACCES, syscall.ENOENT},
}

func TestNothingInsideReachesTheGuest(t *testing.T) {
	everyone(t, func(t *testing.T) {
		var shown map[string]attempt
		if os.Getuid() == 0 {
			shown = control(t)
		}
		a := newArena(t)
		for _, spec := range []sandbox.Spec{{}, {Network: sandbox.NetworkHost}} {
			box := attackBox(a, spec)
			guest := a.guests()
			o := a.try(box, sandbox.Command{Argv: []string{"/tools/attack"}, Terminal: &sandbox.Terminal{Rows: 25, Cols: 80}})
			if o.err != nil || o.Code != 0 {
				t.Fatalf("%+v %v\n%s", o.Result, o.err, o.out)
			}
			tried := parseAttempts(t, o.out)
			for name, got := range tried {
				allowed, ok := answers[name]
				if !ok {
					allowed = []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EROFS}
				}
				if !slices.Contains(allowed, syscall.Errno(got.Errno)) {
					t.Errorf("network %q: %s: %d %s", spec.Network, name, got.Errno, got.Text)
				}
				if c, ok := shown[name]; shown != nil && (!ok || c.Errno != 0) {
					t.Errorf("%s: not shown: the control failed with %d %s", name, c.Errno, c.Text)
				}
			}
			if len(tried) < 40 {
				t.Errorf("only %d attempts", len(tried))
			}
			if now := a.guests(); !slices.Equal(guest, now) {
				t.Errorf("the guest was %v and is %v", guest, now)
			}
			a.must(box, "true")
			if err := a.manager.Remove(t.Context(), box.Identity(), true); err != nil {
				t.Fatal(err)
			}
			box.Close()
		}
	})
}

func TestGuestSurvivesEverySignal(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := attackBox(a, sandbox.Spec{})
		guest := a.guests()
		o := a.try(box, sandbox.Command{Argv: []string{"/tools/attack", "signals"}, Timeout: 20 * time.Second})
		t.Logf("%+v %v\n%s", o.Result, o.err, o.out)
		if now := a.guests(); !slices.Equal(guest, now) {
			t.Fatalf("the guest was %v and is %v", guest, now)
		}
		if o = a.try(box, sandbox.Command{Line: "exit 7"}); o.Code != 7 || o.Recreated {
			t.Errorf("%+v %v", o.Result, o.err)
		}
	})
}

func TestGuestKeepsItsResources(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := attackBox(a, sandbox.Spec{})
		guest := a.guests()
		o := a.try(box, sandbox.Command{Line: "/tools/attack limits; exec sleep 100", Timeout: 2 * time.Second, Grace: treeGrace})
		if o.Reason != sandbox.TimedOut {
			t.Errorf("%+v %v\n%s", o.Result, o.err, o.out)
		}
		t.Log(strings.TrimSpace(o.out))
		if now := a.guests(); !slices.Equal(guest, now) {
			t.Fatalf("the guest was %v and is %v", guest, now)
		}
		if o = a.try(box, sandbox.Command{Line: "exit 7"}); o.Code != 7 || o.Recreated {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		if out := a.must(box, "cat /proc/[0-9]*/comm"); strings.Contains(out, "sleep") {
			t.Errorf("the command lives on:\n%s", out)
		}
	})
}

// A command may ask its parent to trace it. Its parent is the guest, which then
// hears of stops that are no ends.
func TestCommandThatAsksToBeTracedEndsAsAnyOther(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := attackBox(a, sandbox.Spec{})
		o := a.try(box, sandbox.Command{Argv: []string{"/tools/attack", "traced"}, Timeout: 20 * time.Second})
		if o.err != nil || o.Code != 7 || o.Reason != sandbox.Exited {
			t.Errorf("%+v %v\n%s", o.Result, o.err, o.out)
		}
		if out := a.must(box, "cat /proc/[0-9]*/comm"); strings.Contains(out, "attack") {
			t.Errorf("it lives on:\n%s", out)
		}
	})
}

// Whoever stops the process that the guest is about to make a command of must not
// stop the guest.
func TestGuestCannotBeStopped(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := attackBox(a, sandbox.Spec{})
		attacked := make(chan outcome, 1)
		go func() {
			attacked <- a.try(box, sandbox.Command{Argv: []string{"/tools/attack", "stop", "3"}, Timeout: 20 * time.Second, Grace: treeGrace})
		}()
		// Commands of this time may be stopped; what counts is that each has an end.
		ends := map[sandbox.Reason]int{}
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); {
			o := a.try(box, sandbox.Command{Argv: []string{"/bin/true"}, Timeout: 300 * time.Millisecond, Grace: time.Millisecond})
			if o.err != nil {
				t.Fatalf("%+v %v", o.Result, o.err)
			}
			ends[o.Reason]++
		}
		t.Log(ends)
		if o := <-attacked; o.err != nil {
			t.Errorf("%+v %v\n%s", o.Result, o.err, o.out)
		} else {
			t.Log(o.out)
		}
		a.must(box, "true")
	})
}
