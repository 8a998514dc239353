package supervise

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
