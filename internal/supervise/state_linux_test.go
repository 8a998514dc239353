package supervise

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
