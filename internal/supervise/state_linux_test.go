package supervise

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
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

func TestLifeOfAService(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ctx := t.Context()
		s.must(s.Register(ctx, svc(), false))
		s.is("down", Down)
		s.must(s.Start(ctx, "x"))
		if st := s.is("up", Ready); st.PID != 1001 {
			t.Errorf("its process is %d", st.PID)
		}
		s.must(s.Start(ctx, "x"))
		s.is("up", Ready)
		if s.starts != 1 {
			t.Errorf("it was started %d times", s.starts)
		}
		s.must(s.Stop(ctx, "x"))
		s.must(s.Stop(ctx, "x"))
		if st := s.is("down", Down); st.PID != 0 || st.Last == nil || st.Last.Signal != "SIGTERM" || st.Last.Code != 143 {
			t.Errorf("it is %+v", st)
		}
		s.must(s.Restart(ctx, "x"))
		s.is("up", Ready)
		s.must(s.Restart(ctx, "x"))
		if st := s.is("up", Ready); st.PID != 1003 || st.Restarts != 0 {
			t.Errorf("it is %+v", st)
		}
		s.must(s.Unregister(ctx, "x"))
		s.must(s.Unregister(ctx, "x"))
		if _, err := s.Status(ctx, "x"); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestEndsHaveTheirMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		end   func(*actor)
		state State
		says  string
	}{
		"done":               {0, func(a *actor) { a.exit(0) }, Parked, "exit 0"},
		"bad configuration":  {0, func(a *actor) { a.exit(78) }, Parked, "exit 78"},
		"hopeless":           {0, func(a *actor) { a.exit(125) }, Parked, "exit 125"},
		"restart me":         {tooSoon, func(a *actor) { a.exit(75) }, Ready, ""},
		"restart me at once": {0, func(a *actor) { a.exit(75) }, Backoff, "exit 75"},
		"failure":            {0, func(a *actor) { a.exit(1) }, Backoff, "exit 1"},
		"a shell's signal":   {0, func(a *actor) { a.exit(137) }, Backoff, "exit 137"},
		"signal":             {0, func(a *actor) { a.die(syscall.SIGSEGV) }, Backoff, "killed by SIGSEGV"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.must(s.Register(t.Context(), svc(), true))
				s.is("up", Ready)
				s.pass(c.after)
				c.end(s.now)
				if st := s.is("up", c.state); !strings.Contains(st.Reason, c.says) {
					t.Errorf("the reason is %q", st.Reason)
				}
				if c.state == Parked {
					s.pass(time.Hour)
					if s.starts != 1 {
						t.Error("it came back")
					}
					s.must(s.Start(t.Context(), "x"))
					s.is("up", Ready)
				}
			})
		})
	}
}

func TestPausesDoubleAndALoopIsParked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Restart = Restarting{Min: time.Second, Max: 8 * time.Second, Burst: 7, Window: time.Hour}
		s.must(s.Register(t.Context(), x, true))
		for i, want := range []time.Duration{1, 2, 4, 8, 8, 8} {
			s.is("up", Ready)
			s.now.exit(1)
			st := s.is("up", Backoff)
			if pause := time.Until(st.Next); pause != want*time.Second {
				t.Errorf("pause %d is %v", i, pause)
			}
			s.pass(want*time.Second - 1)
			s.is("up", Backoff)
			s.pass(1)
			if st := s.is("up", Ready); st.Restarts != i+1 {
				t.Errorf("%d restarts", st.Restarts)
			}
		}
		s.now.exit(3)
		st := s.is("up", Parked)
		if want := `failed 7 times within 1h; last: exit 3; start it again with "hermes service start x"`; st.Reason != want {
			t.Errorf("the reason is %q", st.Reason)
		}
		s.must(s.Restart(t.Context(), "x"))
		if st := s.is("up", Ready); st.Restarts != 0 {
			t.Errorf("%d restarts", st.Restarts)
		}
		s.now.exit(1)
		if st := s.is("up", Backoff); time.Until(st.Next) != time.Second {
			t.Error("a start does not forget what was")
		}
	})
}

func TestBeingWellForLongShortensThePause(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Restart = Restarting{Min: time.Second, Max: 8 * time.Second, Burst: 100}
		s.must(s.Register(t.Context(), x, true))
		s.is("up", Ready)
		for range 3 {
			s.now.exit(1)
			s.is("up", Backoff)
			s.pass(8 * time.Second)
		}
		s.now.exit(1)
		if st := s.is("up", Backoff); time.Until(st.Next) != 8*time.Second {
			t.Errorf("the pause is %v", time.Until(st.Next))
		}
		s.pass(8 * time.Second)
		s.pass(8 * time.Second)
		s.now.exit(1)
		if st := s.is("up", Backoff); time.Until(st.Next) != time.Second {
			t.Errorf("the pause is %v", time.Until(st.Next))
		}
	})
}

func TestFailuresOfOldDoNotCount(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Restart = Restarting{Min: time.Second, Max: time.Second, Burst: 3, Window: time.Minute}
		s.must(s.Register(t.Context(), x, true))
		for range 10 {
			s.is("up", Ready)
			s.pass(29 * time.Second)
			s.now.exit(1)
			s.is("up", Backoff)
			s.pass(time.Second)
		}
		s.is("up", Ready)
	})
}

func TestWhatCannotBeStartedIsAFailure(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.refuse = errors.New("cannot run /x: no such file")
		s.must(s.Register(t.Context(), svc(), true))
		if st := s.is("up", Backoff); st.Reason != "cannot run /x: no such file" || st.Last != nil {
			t.Errorf("it is %+v", st)
		}
		s.pass(DefaultWindow)
		if st := s.is("up", Parked); s.starts != DefaultBurst {
			t.Errorf("started %d times, it is %+v", s.starts, st)
		}
	})
}

func TestTheDeafAreKilledAfterTheirGrace(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Stop = Stopping{Signal: int(syscall.SIGUSR1), Grace: 3 * time.Second}
		s.must(s.Register(t.Context(), x, true))
		s.is("up", Ready)
		s.now.deaf.Store(true)
		s.must(s.Stop(t.Context(), "x"))
		s.pass(3*time.Second - 1)
		if st := s.is("down", Halting); st.PID != 1001 || s.now.signals[0] != syscall.SIGUSR1 {
			t.Errorf("it is %+v after %v", st, s.now.signals)
		}
		s.pass(1)
		if st := s.is("down", Down); st.Last.Signal != "SIGKILL" {
			t.Errorf("it is %+v", st)
		}
	})
}

func TestWishesWhileItEnds(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ctx := t.Context()
		s.must(s.Register(ctx, svc(), true))
		s.is("up", Ready)
		s.now.deaf.Store(true)
		s.must(s.Stop(ctx, "x"))
		s.is("down", Halting)
		s.must(s.Start(ctx, "x"))
		s.is("up", Halting)
		s.now.exit(78) // whatever it says now, it is wanted
		if st := s.is("up", Ready); st.PID != 1002 {
			t.Errorf("it is %+v", st)
		}
		s.now.deaf.Store(true)
		s.must(s.Restart(ctx, "x"))
		s.must(s.Stop(ctx, "x"))
		s.now.exit(0)
		s.is("down", Down)
	})
}

func TestAStartWhileAFailureIsEndedComesAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Ready = Readiness{Notify: 3, Within: time.Second}
		s.must(s.Register(t.Context(), x, true))
		s.is("up", Up)
		s.now.deaf.Store(true)
		s.pass(time.Second)
		s.is("up", Halting)
		s.must(s.Start(t.Context(), "x"))
		s.now.exit(1)
		if st := s.is("up", Up); st.PID != 1002 {
			t.Errorf("it is %+v", st)
		}
	})
}

// A shutdown comes between the registration and the start that belongs to it.
func TestWhatIsForgottenDoesNotStart(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		u, err := s.add(&x)
		s.must(err)
		u.on(u.leave)
		u.on(u.start)
		synctest.Wait()
		if s.starts > 0 {
			t.Error("it was started")
		}
	})
}

func TestWishesWhileItStarts(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ctx := t.Context()
		begin, real := make(chan struct{}), s.launch
		s.launch = func(service *Service) (*process, error) { <-begin; return real(service) }
		s.must(s.Register(ctx, svc(), true))
		s.is("up", Starting)
		s.must(s.Stop(ctx, "x"))
		s.is("down", Starting)
		begin <- struct{}{}
		if st := s.is("down", Down); st.Last.Signal != "SIGTERM" {
			t.Errorf("it is %+v", st)
		}
		s.must(s.Start(ctx, "x"))
		s.must(s.Replace(ctx, svc(), true))
		begin <- struct{}{}
		s.is("up", Starting) // what was started is what it no longer is
		begin <- struct{}{}
		if st := s.is("up", Ready); st.PID != 1003 {
			t.Errorf("it is %+v", st)
		}
		s.must(s.Stop(ctx, "x"))
		s.must(s.Start(ctx, "x"))
		s.is("up", Starting)
		done := make(chan error)
		go func() { done <- s.Unregister(ctx, "x") }()
		s.is("down", Starting)
		begin <- struct{}{}
		s.must(<-done)
	})
}

func TestAWaitingServiceIsStoppedAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.must(s.Register(t.Context(), svc(), true))
		s.is("up", Ready)
		s.now.exit(1)
		s.is("up", Backoff)
		s.must(s.Stop(t.Context(), "x"))
		s.is("down", Down)
		s.pass(time.Hour)
		if s.starts != 1 {
			t.Error("its timer came through")
		}
	})
}

func TestReadiness(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Ready = Readiness{Notify: 3, Within: 10 * time.Second}
		s.must(s.Register(t.Context(), x, true))
		s.pass(9 * time.Second)
		s.is("up", Up)
		close(s.now.ready)
		s.is("up", Ready)
		s.pass(time.Hour)
		s.is("up", Ready)

		s.must(s.Restart(t.Context(), "x"))
		s.is("up", Up)
		s.pass(10 * time.Second)
		if st := s.is("up", Backoff); st.Reason != "not ready within 10s" {
			t.Errorf("the reason is %q", st.Reason)
		}

		x.Ready = Readiness{After: 5 * time.Second}
		s.must(s.Replace(t.Context(), x, true))
		s.pass(5*time.Second - 1)
		s.is("up", Up)
		s.pass(1)
		s.is("up", Ready)
	})
}

func TestReplacedServicesRunAsTheyAreNow(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ctx := t.Context()
		if err := s.Replace(ctx, svc(), true); err != nil {
			t.Fatal(err)
		}
		s.is("up", Ready)
		if err := s.Register(ctx, svc(), true); !errors.Is(err, ErrRegistered) {
			t.Errorf("the error is %v", err)
		}
		s.must(s.Replace(ctx, svc(), true))
		if st := s.is("up", Ready); st.PID != 1002 {
			t.Errorf("it is %+v", st)
		}
		s.must(s.Replace(ctx, svc(), false))
		s.is("down", Down)
	})
}

func TestNothingStartsAfterTheShutdown(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ctx := t.Context()
		s.must(s.Register(ctx, svc(), true))
		s.is("up", Ready)
		s.now.deaf.Store(true)
		done := make(chan []Survivor)
		go func() { done <- s.Shutdown(ctx) }()
		synctest.Wait()
		if err := s.Start(ctx, "x"); !errors.Is(err, ErrClosed) {
			t.Errorf("the error is %v", err)
		}
		if err := s.Register(ctx, Service{Name: "y", Argv: []string{"/y"}, User: &User{UID: 1}}, true); !errors.Is(err, ErrClosed) {
			t.Errorf("the error is %v", err)
		}
		if left := <-done; left != nil || s.starts != 1 {
			t.Errorf("survivors %v, %d starts", left, s.starts)
		}
	})
}

func TestAHurriedShutdownGivesNoGrace(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		x := svc()
		x.Stop.Grace = time.Hour
		s.must(s.Register(t.Context(), x, true))
		s.is("up", Ready)
		s.now.deaf.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		begin := time.Now()
		if left := s.Shutdown(ctx); left != nil || time.Since(begin) != 6*time.Second {
			t.Errorf("survivors %v after %v", left, time.Since(begin))
		}
	})
}

func TestWaitTellsWhatCameOfAWish(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.must(s.Register(t.Context(), svc(), false))
		go func() {
			time.Sleep(time.Minute)
			_ = s.Start(t.Context(), "x")
		}()
		st, err := s.Wait(t.Context(), "x", Status.Running)
		if err != nil || !st.Running() {
			t.Errorf("%+v, %v", st, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Wait(ctx, "x", func(st Status) bool { return st.State == Parked }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		go s.Unregister(t.Context(), "x")
		if _, err := s.Wait(t.Context(), "x", func(st Status) bool { return st.State == Parked }); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("the error is %v", err)
		}
	})
}

// deaf is a log that nobody reads, until the test says so.
type deaf struct {
	slog.Handler
	heard chan struct{}
	lines *[]string
}

func (d deaf) Enabled(context.Context, slog.Level) bool { return true }
func (d deaf) Handle(_ context.Context, r slog.Record) error {
	<-d.heard
	*d.lines = append(*d.lines, r.Message)
	return nil
}

func TestALogThatNobodyReadsHoldsUpNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.journal.close()
		var lines []string
		log := deaf{slog.DiscardHandler, make(chan struct{}), &lines}
		s.journal = newJournal(slog.New(log))
		s.must(s.Register(t.Context(), svc(), true))
		for range queued {
			s.is("up", Ready)
			s.must(s.Restart(t.Context(), "x"))
		}
		s.is("up", Ready)
		close(log.heard)
		s.journal.close()
		if len(lines) != 1+queued+1 || lines[1] != "the log could not keep up" {
			t.Errorf("%d lines: %q", len(lines), lines[:3])
		}
	})
}

// told notes what a log is told, a line each.
type told struct {
	slog.Handler
	lines *[]string
}

func (n told) Enabled(context.Context, slog.Level) bool { return true }
func (n told) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	*n.lines = append(*n.lines, line)
	return nil
}

func TestTheLogIsToldOfChangesOnly(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.journal.close()
		var lines []string
		s.journal = newJournal(slog.New(told{slog.DiscardHandler, &lines}))
		s.must(s.Register(t.Context(), svc(), false))
		s.must(s.Stop(t.Context(), "x"))
		s.must(s.Unregister(t.Context(), "x"))
		s.must(s.Register(t.Context(), svc(), true))
		s.is("up", Ready)
		s.journal.close()
		want := []string{"service name=x state=starting was=down", "service name=x state=up was=starting", "service name=x state=ready was=up"}
		if !slices.Equal(lines, want) {
			t.Errorf("it was told %q", lines)
		}
	})
}

func TestBadServicesAreRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		for name, spoil := range map[string]func(*Service){
			"no name":          func(x *Service) { x.Name = "" },
			"a path as name":   func(x *Service) { x.Name = "../x" },
			"a dot":            func(x *Service) { x.Name = "a.b" },
			"a newline":        func(x *Service) { x.Name = "x\n" },
			"no program":       func(x *Service) { x.Argv = nil },
			"relative program": func(x *Service) { x.Argv = []string{"x"} },
			"relative log":     func(x *Service) { x.Log = "log" },
			"standard output":  func(x *Service) { x.Ready.Notify = 1 },
		} {
			x := svc()
			spoil(&x)
			if err := s.Register(t.Context(), x, true); err == nil || errors.Is(err, ErrRegistered) {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.Replace(t.Context(), x, true); err == nil {
				t.Errorf("%s replaced one", name)
			}
		}
		if s.starts > 0 {
			t.Error("one was started")
		}
	})
}

func TestThereAreOnlySoManyServices(t *testing.T) {
	b := newBench(t, nil)
	for i := range mostServices {
		if err := b.Register(t.Context(), b.shell("s"+strconv.Itoa(i), "true"), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Register(t.Context(), b.shell("more", "true"), false); err == nil || !strings.Contains(err.Error(), "4096 already") {
		t.Errorf("one too many: %v", err)
	}
	if err := b.Replace(t.Context(), b.shell("s0", "true"), false); err != nil {
		t.Errorf("one that is known: %v", err)
	}
}
