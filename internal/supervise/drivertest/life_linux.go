package drivertest

import (
	"syscall"
	"time"

	"hermes.example/hermes/internal/supervise"
)

func startedTwice(t *trial) {
	t.register(t.sleeper(one), false)
	t.do(t.Driver.Start, one)
	pid := t.running(one, 0).PID
	t.do(t.Driver.Start, one)
	if st := t.status(one); st.PID != pid || !runs(st) {
		t.Errorf("its status is %+v", st)
	}
}

func stoppedTwice(t *trial) {
	t.register(t.sleeper(one), true)
	pid := t.running(one, 0).PID
	for range 2 {
		t.do(t.Driver.Stop, one)
		t.until(one, "it is down", isDown)
	}
	if alive(pid) {
		t.Error("it runs still")
	}
	if st := t.status(one); st.Last == nil || st.Last.Signal != "SIGTERM" || st.Last.Code != 128+int(syscall.SIGTERM) {
		t.Errorf("its last end is %+v", st.Last)
	}
}

func restarted(t *trial) {
	t.register(t.sleeper(one), true)
	before := t.running(one, 0).PID
	t.do(t.Driver.Restart, one)
	t.running(one, before)
	if alive(before) {
		t.Error("the old one runs still")
	}
	if st := t.status(one); st.Restarts != 0 {
		t.Errorf("what was asked for counts as a failure: %+v", st)
	}
}

func restartedDown(t *trial) {
	t.register(t.sleeper(one), false)
	t.do(t.Driver.Restart, one)
	t.running(one, 0)
}

// One that ends with 0 when it is asked to is parked when it does so by itself.
func restartedWell(t *trial) {
	t.register(t.service(one, "trap 'exit 0' TERM; echo up >up; while :; do sleep 0.01; done"), true)
	pid := t.running(one, 0).PID
	t.file("up")
	t.do(t.Driver.Restart, one)
	t.running(one, pid)
}

func crashed(t *trial) {
	t.register(t.service(one, "[ -e once ] || { echo >once; exit 3; }; exec sleep 1000"), true)
	st := t.until(one, "it is back", func(st supervise.Status) bool { return runs(st) && st.Restarts > 0 })
	if st.Last == nil || st.Last.Code != 3 || st.Last.Signal != "" || st.Last.At.IsZero() || st.Restarts != 1 {
		t.Errorf("its status is %+v, its last end %+v", st, st.Last)
	}
}

func killed(t *trial) {
	t.register(t.sleeper(one), true)
	pid := t.running(one, 0).PID
	t.kill(pid, syscall.SIGKILL)
	if st := t.status(one); st.Want != "up" {
		t.Errorf("a kill changed what is wanted: %+v", st)
	}
	st := t.running(one, pid)
	if st.Last == nil || st.Last.Code != 128+9 || st.Last.Signal != "SIGKILL" {
		t.Errorf("its last end is %+v", st.Last)
	}
}

func parked(t *trial) {
	for _, code := range []int{0, supervise.ExitConfig, supervise.ExitPermanent} {
		name := "gateway-" + itoa(code)
		t.register(t.service(name, "[ ! -e "+name+" ] || exec sleep 1000; exit "+itoa(code)), true)
		st := t.until(name, "it is parked", isParked)
		if st.Reason == "" || st.Last == nil || st.Last.Code != code || st.Restarts != 0 {
			t.Errorf("%d: its status is %+v, its last end %+v", code, st, st.Last)
		}
		t.write(name)
		t.do(t.Driver.Start, name)
		if st := t.running(name, 0); st.Reason != "" {
			t.Errorf("%d: a reason stayed: %+v", code, st)
		}
	}
}

// One failure would park it.
func askedForRestart(t *trial) {
	s := t.service(one, "[ -e once ] && exec sleep 1000; echo >once; sleep 2.5; exit 75")
	s.Restart.Burst = 1
	t.register(s, true)
	t.until(one, "it is back", func(st supervise.Status) bool { return runs(st) && st.Restarts == 1 })
}

func stoppedParked(t *trial) {
	t.register(t.service(one, "exit 78"), true)
	t.until(one, "it is parked", isParked)
	t.do(t.Driver.Stop, one)
	if st := t.until(one, "it is down", isDown); st.Reason != "" {
		t.Errorf("a reason stayed: %+v", st)
	}
}

func askedForNothingElse(t *trial) {
	t.register(t.service(one, "exit 75"), true)
	t.until(one, "it is parked", isParked)
}

func crashLoop(t *trial) {
	t.register(t.service(one, "echo >>runs; exit 1"), true)
	st := t.until(one, "it is parked", isParked)
	if st.Reason == "" || st.Last == nil || st.Last.Code != 1 {
		t.Errorf("its status is %+v", st)
	}
	if ran := t.file("runs"); len(ran) != 4 {
		t.Errorf("it was started %d times", len(ran))
	}
}

// pausing is a service that waits after its first failure, for much longer than the test.
func (t *trial) pausing() {
	s := t.service(one, "[ -e once ] && exec sleep 1000; echo >once; exit 1")
	s.Restart = supervise.Restarting{Min: 10 * time.Minute, Max: 10 * time.Minute}
	t.register(s, true)
	t.until(one, "it waits", func(st supervise.Status) bool {
		return st.State == supervise.Backoff && st.PID == 0 && st.Reason != "" && time.Until(st.Next) > 5*time.Minute
	})
}

func startInPause(t *trial) {
	t.pausing()
	t.do(t.Driver.Start, one)
	t.running(one, 0)
}

func stopInPause(t *trial) {
	t.pausing()
	t.do(t.Driver.Stop, one)
	t.until(one, "it is down", isDown)
}

func hanging(t *trial) {
	deaf := t.service(one, "trap '' TERM; echo up >>up; while :; do sleep 0.01; done")
	t.register(deaf, true)
	pid := t.running(one, 0).PID
	t.file("up")
	t.do(t.Driver.Stop, one)
	if st := t.until(one, "it is down", isDown); st.Last == nil || st.Last.Signal != "SIGKILL" {
		t.Errorf("its last end is %+v", st.Last)
	}
	if alive(pid) {
		t.Error("it runs still")
	}
	t.do(t.Driver.Start, one)
	pid = t.running(one, pid).PID
	t.eventually("it is deaf again", func() bool { return t.file("up") == "up\nup\n" }, func() any { return nil })
	t.do(t.Driver.Restart, one)
	pid2 := t.running(one, pid).PID
	if alive(pid) {
		t.Error("the old one runs still")
	}
	t.do(t.Driver.Unregister, one)
	if alive(pid2) {
		t.Error("it runs still")
	}
}

func family(t *trial) {
	t.register(t.service(one, "sleep 1000 & echo $! >child; exec sleep 1000"), true)
	t.running(one, 0)
	child := atoi(t.T, t.file("child"))
	t.do(t.Driver.Stop, one)
	t.until(one, "it is down", isDown)
	t.eventually("its child has ended", func() bool { return !alive(child) }, func() any { return child })
}
