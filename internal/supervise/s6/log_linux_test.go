package s6

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/supervise"
)

// s6-log takes a lock that a dead container may have left on the volume.
func TestAStaleLockOfALogIsRemoved(t *testing.T) {
	r := newScanned(t)
	s := r.service("gateway-a", "echo said; exec sleep 1000")
	s.Log = filepath.Join(r.home, "log")
	lock := filepath.Join(s.Log, "lock")
	r.ok(r.hand.Do(func() error {
		if err := os.Mkdir(s.Log, 0o755); err != nil {
			return err
		}
		return os.WriteFile(lock, []byte("stale"), 0o000) // s6-log could not even open it
	}))
	r.ok(r.Register(t.Context(), s, true))
	r.eventually("it is kept", func() bool {
		text, _ := os.ReadFile(filepath.Join(s.Log, "current"))
		return strings.HasSuffix(string(text), "  said\n")
	})
	if text, _ := os.ReadFile(lock); string(text) == "stale" {
		t.Error("the old lock is there still")
	}
}

// A log that cannot be kept is no reason for a service to stop.
func TestALogThatCannotBeKeptStopsNothing(t *testing.T) {
	r := newScanned(t)
	s := r.service("gateway-a", "i=0; while [ $i -lt 5000 ]; do echo line $i of much that is said; i=$((i+1)); done; echo >done; exec sleep 1000")
	s.Log = "/proc/no/such/place"
	r.ok(r.Register(t.Context(), s, true))
	r.eventually("it says everything", func() bool { return !absent(filepath.Join(r.home, "done")) })
	r.eventually("it is passed on", func() bool { return strings.Contains(r.said.String(), "line 4999 of much") })
}

// Logs are cut into pieces, and the oldest are thrown away.
func TestALogIsBounded(t *testing.T) {
	r := newScanned(t)
	line := strings.Repeat("x", 8000)
	s := r.service("gateway-a", fmt.Sprintf("i=0; while [ $i -lt 1800 ]; do echo %s; i=$((i+1)); done; echo >done; exec sleep 1000", line))
	s.Log = filepath.Join(r.home, "log")
	r.ok(r.Register(t.Context(), s, true))
	r.eventually("it says everything", func() bool { return !absent(filepath.Join(r.home, "done")) })
	r.eventually("all is kept that is to be", func() bool {
		pieces, err := filepath.Glob(filepath.Join(s.Log, "@*"))
		r.ok(err)
		for _, piece := range pieces {
			if info, err := os.Stat(piece); err == nil && info.Size() > 1_100_000 {
				t.Fatalf("%s has %d bytes", piece, info.Size())
			}
		}
		return len(pieces) == 10
	})
}

// A process that escaped keeps the logger's pipe open; it does not keep the slot.
func TestALostProcessDoesNotKeepTheSlot(t *testing.T) {
	r := newScanned(t)
	s := r.service("gateway-a", "setsid sleep 1000 & echo $! >child; exec sleep 1000")
	s.Log = filepath.Join(r.home, "log")
	r.ok(r.Register(t.Context(), s, true))
	r.eventually("it escaped", func() bool { return !absent(filepath.Join(r.home, "child")) })
	r.ok(r.Unregister(t.Context(), s.Name))
	if names := r.names(); len(names) > 0 {
		t.Errorf("left behind is %v", names)
	}
	if st, err := r.Status(t.Context(), s.Name); err == nil {
		t.Errorf("it has a status: %+v", st)
	}
	s.Argv[2] = "exec sleep 1000"
	r.ok(r.Register(t.Context(), s, true))
	r.eventually("it runs again", func() bool {
		st, err := r.Status(t.Context(), s.Name)
		return err == nil && st.State == supervise.Ready
	})
}
