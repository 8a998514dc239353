package drivertest

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"hermes.example/hermes/internal/supervise"
)

func registeredDown(t *trial) {
	t.register(t.service(one, "echo ran >ran; exec sleep 1000"), false)
	if st := t.status(one); !isDown(st) || st.Name != one || st.Last != nil {
		t.Errorf("its status is %+v", st)
	}
	// Had it been started, it would have come before one that was registered later.
	t.register(t.service("gateway-two", "echo ran >two; exec sleep 1000"), true)
	t.file("two")
	if st := t.status(one); !isDown(st) {
		t.Errorf("its status is %+v", st)
	}
}

func registeredUp(t *trial) {
	t.register(t.sleeper(one), true)
	st := t.running(one, 0)
	if !alive(st.PID) || st.Last != nil || st.Restarts != 0 || st.Since.IsZero() {
		t.Errorf("its status is %+v", st)
	}
}

func registeredTwice(t *trial) {
	t.register(t.sleeper(one), true)
	pid := t.running(one, 0).PID
	if err := t.Driver.Register(t.ctx, t.sleeper(one), false); !errors.Is(err, supervise.ErrRegistered) {
		t.Errorf("the error is %v", err)
	}
	if st := t.status(one); st.PID != pid {
		t.Errorf("it did not stay as it was: %+v", st)
	}
}

func replaced(t *trial) {
	t.ok(t.Driver.Replace(t.ctx, t.service(one, "echo first >who; exec sleep 1000"), true))
	pid := t.running(one, 0).PID
	t.file("who")
	t.ok(t.Driver.Replace(t.ctx, t.service(one, "echo second >who; exec sleep 1000"), true))
	t.running(one, pid)
	t.eventually("the new one runs", func() bool { return t.file("who") == "second\n" }, func() any { return nil })
	if alive(pid) {
		t.Error("the old one runs still")
	}
	t.ok(t.Driver.Replace(t.ctx, t.sleeper(one), false))
	t.until(one, "it is down", isDown)
}

func unregistered(t *trial) {
	t.do(t.Driver.Unregister, one) // never was one
	t.register(t.sleeper(one), true)
	pid := t.running(one, 0).PID
	t.do(t.Driver.Unregister, one)
	if alive(pid) {
		t.Error("it runs still")
	}
	if _, err := t.Driver.Status(t.ctx, one); !errors.Is(err, supervise.ErrNotRegistered) {
		t.Errorf("its status is an error %v", err)
	}
	t.do(t.Driver.Unregister, one)
	t.register(t.sleeper(one), true)
	t.running(one, pid)
}

func unknown(t *trial) {
	for what, err := range map[string]error{
		"start": t.Driver.Start(t.ctx, one), "stop": t.Driver.Stop(t.ctx, one), "restart": t.Driver.Restart(t.ctx, one),
	} {
		if !errors.Is(err, supervise.ErrNotRegistered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if list, err := t.Driver.List(t.ctx); err != nil || len(list) != 0 {
		t.Errorf("the list is %v %v", list, err)
	}
}

func listed(t *trial) {
	for _, name := range []string{"gateway-b", "gateway-c", "gateway-a"} {
		t.register(t.sleeper(name), name == "gateway-b")
	}
	t.running("gateway-b", 0)
	list, err := t.Driver.List(t.ctx)
	t.ok(err)
	var names []string
	for _, st := range list {
		names = append(names, st.Name+" "+st.Want)
	}
	if want := []string{"gateway-a down", "gateway-b up", "gateway-c down"}; !slices.Equal(names, want) {
		t.Errorf("the list is %v", names)
	}
}

func onlyOne(t *trial) {
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			err := t.Driver.Register(t.ctx, t.sleeper(one), true)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, supervise.ErrRegistered):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 9 {
		t.Errorf("%d registered it and %d were told that it is", won, lost)
	}
	t.running(one, 0)
}

func fifty(t *trial) {
	var all sync.WaitGroup
	for i := range 50 {
		name := "gateway-" + itoa(i)
		all.Go(func() {
			for _, do := range []func() error{
				func() error { return t.Driver.Register(t.ctx, t.sleeper(name), i%2 == 0) },
				func() error { return t.Driver.Start(t.ctx, name) },
				func() error { return t.Driver.Stop(t.ctx, name) },
				func() error { return t.Driver.Start(t.ctx, name) },
			} {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	pids := map[int]bool{}
	for i := range 50 {
		pids[t.running("gateway-"+itoa(i), 0).PID] = true
	}
	if len(pids) != 50 {
		t.Errorf("they are %d processes", len(pids))
	}
	for i := range 50 {
		all.Go(func() {
			if err := t.Driver.Unregister(t.ctx, "gateway-"+itoa(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := t.Driver.List(t.ctx); err != nil || len(list) > 0 {
		t.Errorf("the list is %v %v", list, err)
	}
	for pid := range pids {
		if alive(pid) {
			t.Errorf("%d runs still", pid)
			t.kill(pid, syscall.SIGKILL)
		}
	}
}
