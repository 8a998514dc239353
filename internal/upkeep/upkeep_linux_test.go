package upkeep

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/reaper"
)

// bound is how long anything may take before it counts as a hang.
const bound = 60 * time.Second

// options are those of a home whose services are a script: its first argument is what it is to be.
func options(t *testing.T, script string) Options {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	home, program := filepath.Join(dir, "home"), filepath.Join(dir, "program")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Options{Home: home, Program: program, Env: []string{"PATH=/usr/bin:/bin"}, Root: os.Geteuid() == 0, Output: io.Discard, Log: slog.New(slog.DiscardHandler)}
}

// started is one that the test ends.
func started(t *testing.T, o Options) *Upkeep {
	t.Helper()
	u, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		if err := u.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return u
}

// until waits for what a service becomes.
func (u *Upkeep) until(t *testing.T, name string, is func(supervise.Status) bool) supervise.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	st, err := u.supervisor.Wait(ctx, name, is)
	if err != nil {
		t.Fatalf("%v: %+v", err, st)
	}
	return st
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("in vain waited for: %s", what)
}

const waits = "echo ready >&3; exec sleep 1000\n"

// Both kinds of services have what tells them that this process is gone, each beside what it says on that it is ready,
// and the home that they are to serve, whatever was in the environment.
func TestEveryServiceHasALifeline(t *testing.T) {
	o := options(t, `echo "$HERMES_LIFELINE_FD $HERMES_HOME $(readlink /proc/$$/fd/4 | cut -d: -f1)" >"$HERMES_HOME/$1"`+"\n"+waits)
	o.Env = append(o.Env, "HERMES_HOME=/elsewhere")
	u := started(t, o)
	for service, file := range map[string]string{Dashboard: "dashboard", roster.ServiceName("default"): "gateway"} {
		u.until(t, service, func(s supervise.Status) bool { return s.State == supervise.Ready })
		if text, err := os.ReadFile(filepath.Join(o.Home, file)); err != nil || string(text) != "4 "+o.Home+" pipe\n" {
			t.Errorf("%s has %q, %v", service, text, err)
		}
	}
}

// A service that cannot say anything and fails is parked or tried again for its status alone.
func TestAServiceThatClosedItsOutputFails(t *testing.T) {
	o := options(t, `exec >&- 2>&-; [ "$1" = dashboard ] && exit 78; exit 1`+"\n")
	u := started(t, o)
	st := u.until(t, Dashboard, func(s supervise.Status) bool { return s.State == supervise.Parked })
	if !strings.Contains(st.Reason, "78") {
		t.Errorf("the reason is %q", st.Reason)
	}
	st = u.until(t, roster.ServiceName("default"), func(s supervise.Status) bool { return s.State == supervise.Backoff })
	if !strings.Contains(st.Reason, "1") {
		t.Errorf("the reason is %q", st.Reason)
	}
}

// A service that writes without end costs its log what a log may have, and this process nothing.
func TestAFloodCostsNothing(t *testing.T) {
	o := options(t, `[ "$1" = dashboard ] || { `+waits+`}
echo ready >&3; yes "a line of a service that has very much to say and says it again and again" | head -c 60000000; touch "$HERMES_HOME/said"; exec sleep 1000`+"\n")
	u := started(t, o)
	before := heap()
	highest := before
	eventually(t, "all is said", func() bool {
		highest = max(highest, heap())
		_, err := os.Stat(filepath.Join(o.Home, "said"))
		return err == nil
	})
	if grown := highest - before; highest > before && grown > 16<<20 {
		t.Errorf("the supervisor grew by %d bytes", grown)
	}
	var kept int64
	filepath.WalkDir(filepath.Join(o.Home, "logs", Dashboard), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil { // else it was rotated away
				kept += info.Size()
			}
		}
		return nil
	})
	if kept == 0 || kept > 12_000_000 {
		t.Errorf("its log has %d bytes", kept)
	}
	if st, err := u.supervisor.Status(t.Context(), Dashboard); err != nil || st.State != supervise.Ready {
		t.Errorf("it is %+v, %v", st, err)
	}
}

// heap is what this process holds on to.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What cannot be started leaves the home to the next one: neither lease nor socket.
func TestAStartThatFailsLeavesNothing(t *testing.T) {
	o := options(t, waits)
	wrong := o
	wrong.Program = "relative"
	if u, err := Start(t.Context(), wrong); err == nil {
		u.Stop(t.Context())
		t.Fatal("a program without a path was started")
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hermes", "*.sock")); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	started(t, o).until(t, Dashboard, func(s supervise.Status) bool { return s.State == supervise.Ready })
}

// Who cannot keep a home says whether it is another's, cannot be used, or has no place for its socket; and lets go.
func TestWhyAHomeIsNotKept(t *testing.T) {
	o := options(t, waits)
	var held *lease.HeldError
	var unfit *HomeError
	missing := o
	missing.Home = filepath.Join(o.Home, "missing")
	if _, err := Start(t.Context(), missing); !errors.As(err, &unfit) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	long := filepath.Join(run, strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", long)
	if _, err := Start(t.Context(), o); err == nil || errors.As(err, &unfit) || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Errorf("without a place for its socket: %v", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	started(t, o)
	if _, err := Start(t.Context(), o); !errors.As(err, &held) || errors.As(err, &unfit) || held.Holder.PID != os.Getpid() {
		t.Errorf("one that is kept: %v", err)
	}
}

// The end takes what is below this process with it, which need not be of a service, as a sandbox is not: in order while
// there is time, and by force when there is none.
func TestTheEndLeavesNothingBelow(t *testing.T) {
	const deaf = "trap '' TERM; echo ready >&3; while :; do sleep 1000; done\n"
	for name, c := range map[string]struct {
		hurried bool
		script  string
	}{"in order": {false, waits}, "by force": {true, deaf}} {
		t.Run(name, func(t *testing.T) {
			// One that no service started stands for an orphan that was adopted. The reaper waits for it.
			if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, nil); err != nil {
				t.Fatal(err)
			}
			u, err := Start(t.Context(), options(t, c.script))
			if err != nil {
				t.Fatal(err)
			}
			u.until(t, Dashboard, func(s supervise.Status) bool { return s.State == supervise.Ready })
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			if c.hurried {
				cancel()
			}
			began := time.Now()
			if err := u.Stop(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); c.hurried && took > supervise.DefaultGrace {
				t.Errorf("who has no time waited for %v", took)
			}
			for _, pid := range reaper.Below() {
				t.Errorf("left is the process %d", pid)
				syscall.Kill(pid, syscall.SIGKILL) // it is below this one, so it is ours
			}
		})
	}
}
