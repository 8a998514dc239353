package supervise

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// These tests run the state machine on processes that are none, in time that passes only when everything waits.

// stage is where a test plays the machine's part.
type stage struct {
	t *testing.T
	*Supervisor
	starts int
	refuse error
	now    *actor
}

// actor is a process that is none.
type actor struct {
	exited  chan syscall.WaitStatus
	ready   chan struct{}
	signals []syscall.Signal
	deaf    atomic.Bool // to everything but a kill
	ended   bool
}

func (a *actor) exit(code int)          { a.leave(syscall.WaitStatus(code << 8)) }
func (a *actor) die(sig syscall.Signal) { a.leave(syscall.WaitStatus(sig)) }
func (a *actor) leave(s syscall.WaitStatus) {
	if !a.ended {
		a.ended = true
		a.exited <- s
	}
}

// noBugs fails a test whose state machine says that something cannot be.
type noBugs struct {
	slog.Handler
	t *testing.T
}

func (h noBugs) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (h noBugs) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "bug") {
		h.t.Errorf("%s", r.Message)
	}
	return nil
}

func play(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t}
		s.Supervisor = New(Options{Jitter: func() float64 { return 0.5 }, Log: slog.New(noBugs{slog.DiscardHandler, t})})
		s.launch = func(service *Service) (*process, error) {
			s.starts++
			if s.refuse != nil {
				return nil, s.refuse
			}
			a := &actor{exited: make(chan syscall.WaitStatus, 1), ready: make(chan struct{})}
			s.now = a
			p := &process{service: service, pid: 1000 + s.starts, began: time.Now(), exited: a.exited, killed: make(chan struct{})}
			closed := make(chan struct{})
			p.close = func() { close(closed) }
			p.signal = func(sig syscall.Signal) {
				a.signals = append(a.signals, sig)
				if !a.deaf.Load() {
					a.die(sig)
				}
			}
			p.endTree = func() []int { a.die(syscall.SIGKILL); return nil }
			p.notified = func() bool {
				select {
				case <-a.ready:
					return true
				case <-closed:
					return false
				}
			}
			return p, nil
		}
		f(t, s)
		if left := s.Shutdown(t.Context()); left != nil {
			t.Errorf("survivors: %v", left)
		}
	})
}

func (s *stage) is(want string, state State) Status {
	s.t.Helper()
	synctest.Wait()
	st, err := s.Status(s.t.Context(), "x")
	if err != nil || st.Want != want || st.State != state {
		s.t.Fatalf("it is %+v, %v; not %s, wanted %s", st, err, state, want)
	}
	return st
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func svc() Service {
	return Service{Name: "x", Argv: []string{"/x"}, User: &User{UID: 54321, GID: 54321}}
}
