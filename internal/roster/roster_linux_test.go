package roster

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
)

func TestStartStopAndRestartWriteDownWhatIsWanted(t *testing.T) {
	b := newBench(t)
	b.profile("coder", `{"gateway_state":"stopped","platforms":{"x":1}}`)
	if err := b.Register(t.Context(), "coder", false); err != nil {
		t.Fatal(err)
	}
	if got := b.wants(); got != "coder:down" {
		t.Errorf("a new one is %s", got)
	}
	pid := 0
	for _, step := range []struct {
		do      func() error
		desired string
		state   supervise.State
	}{
		{func() error { return b.Start(t.Context(), "gateway-coder") }, "running", supervise.Ready},
		{func() error { return b.Stop(t.Context(), "gateway-coder") }, "stopped", supervise.Down},
		{func() error { return b.Restart(t.Context(), "gateway-coder") }, "running", supervise.Ready},
		{func() error { return b.Restart(t.Context(), "gateway-coder") }, "running", supervise.Ready},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		var status supervise.Status
		b.eventually("it is as wanted, in another process", func() bool {
			var err error
			status, err = b.Wait(t.Context(), "gateway-coder")
			return err == nil && (status.PID == 0 || status.PID != pid)
		})
		pid = status.PID
		if got := b.state("coder"); status.State != step.state || got.Desired != step.desired || got.Gateway != "stopped" {
			t.Errorf("it is %+v and %+v is written down, wanted %s", status, got, step.desired)
		}
	}
	content, err := os.ReadFile(filepath.Join(b.root, "profiles/coder/gateway_state.json"))
	if err != nil || !strings.Contains(string(content), `"platforms"`) {
		t.Errorf("a key was lost: %s, %v", content, err)
	}
}

func TestAGatewayThatIsNotThere(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	b.put("profiles/half/config.yaml", "")
	for _, name := range []string{"coder", "half", "", "Bad", "../x"} {
		for verb, do := range map[string]func() error{
			"start":   func() error { return b.Start(t.Context(), ServiceName(name)) },
			"stop":    func() error { return b.Stop(t.Context(), ServiceName(name)) },
			"restart": func() error { return b.Restart(t.Context(), ServiceName(name)) },
		} {
			err := do()
			want := fmt.Sprintf(`no such gateway '%s'; create its profile with "hermes profile create %s"`, name, name)
			if !errors.Is(err, supervise.ErrNotRegistered) || err.Error() != want {
				t.Errorf("%s %q: %v", verb, name, err)
			}
		}
	}
	for _, call := range d.calls {
		if verb, _, _ := strings.Cut(call, " "); verb != "start" && verb != "status" {
			t.Errorf("the driver was asked to %s", call)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(b.root, "profiles")); len(entries) != 1 {
		t.Errorf("%v was written", entries)
	}
}

func TestOnlyStartMakesAProfileOfTheHostKnown(t *testing.T) {
	b := newBench(t)
	b.profile("coder", "")
	for _, do := range []func() error{
		func() error { return b.Stop(t.Context(), "gateway-coder") },
		func() error { return b.Restart(t.Context(), "gateway-coder") },
	} {
		if err := do(); !errors.Is(err, supervise.ErrNotRegistered) {
			t.Errorf("got %v", err)
		}
	}
	if err := b.Start(t.Context(), "gateway-coder"); err != nil {
		t.Fatal(err)
	}
	if status, err := b.Wait(t.Context(), "gateway-coder"); err != nil || status.State != supervise.Ready {
		t.Errorf("%+v, %v", status, err)
	}
	if got := b.state("coder").Desired; got != profile.Running {
		t.Errorf("%q is written down", got)
	}
}

func TestNamesThatNoGatewayCanHave(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"", "Coder", "foo/bar", "../e", "-x", "_x", "a b", "a.b", strings.Repeat("a", 252)} {
		if err := b.Register(t.Context(), name, true); err == nil || !strings.HasPrefix(err.Error(), "cannot use ") {
			t.Errorf("%q: %v", name, err)
		}
		if err := b.Unregister(t.Context(), name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := b.Register(t.Context(), "nobody", true); !errors.Is(err, profile.ErrNotFound) {
		t.Errorf("without a profile: %v", err)
	}
	b.profile("coder", "")
	if err := b.Register(t.Context(), "coder", true); err != nil {
		t.Error(err)
	}
	if err := b.Register(t.Context(), "coder", true); !errors.Is(err, supervise.ErrRegistered) || !strings.Contains(err.Error(), "already registered") {
		t.Errorf("twice: %v", err)
	}
	for range 2 { // one that is not known is none to end
		if err := b.Unregister(t.Context(), "coder"); err != nil {
			t.Error(err)
		}
	}
	if got := b.wants(); got != "" {
		t.Errorf("left are %s", got)
	}
	if b.state("coder").Found {
		t.Error("something was written down")
	}
}

func TestARefusalOfTheSupervisorIsShownAndNothingIsWrittenDown(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	b.profile("coder", `{"desired_state":"x"}`)
	d.up["gateway-coder"] = true
	for _, verb := range []string{"start", "stop", "restart"} {
		d.fail[verb+" gateway-coder"] = &supervise.ControlError{Service: "gateway-coder", Action: verb, Code: 111, Stderr: "s6-svc: fatal: Permission denied"}
	}
	for verb, do := range map[string]func() error{
		"start":   func() error { return b.Start(t.Context(), "gateway-coder") },
		"stop":    func() error { return b.Stop(t.Context(), "gateway-coder") },
		"restart": func() error { return b.Restart(t.Context(), "gateway-coder") },
	} {
		err := do()
		if err == nil || err.Error() != "cannot "+verb+" gateway-coder: the supervisor's tool ended with rc=111: s6-svc: fatal: Permission denied" {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if got := b.state("coder").Desired; got != "x" {
		t.Errorf("%q is written down", got)
	}
}

func TestAStopIsAnnouncedFirst(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	b.profile("coder", "")
	d.up["gateway-coder"] = true
	d.fail["stop gateway-coder"] = errors.New("not yet")
	if err := b.Stop(t.Context(), "gateway-coder"); err == nil {
		t.Fatal("it was stopped")
	}
	if !b.home.StopPlanned("coder", 4242) {
		t.Error("nothing was announced before the stop")
	}
	delete(d.fail, "stop gateway-coder")
	if err := os.MkdirAll(filepath.Join(b.root, "profiles/coder/.gateway-planned-stop.json/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(t.Context(), "gateway-coder"); err != nil {
		t.Errorf("that it cannot be announced is an error: %v", err)
	}
	if !strings.Contains(b.log.String(), "does not know that its owner stops it") || b.wants() != "coder:down" {
		t.Errorf("%s, and the log is %s", b.wants(), b.log)
	}
	if err := b.Stop(t.Context(), "gateway-coder"); err != nil || strings.Count(b.log.String(), "does not know") != 1 {
		t.Errorf("one that does not run was told: %v, %s", err, b.log)
	}
}

func TestWhatCannotBeWrittenDownIsDoneAllTheSame(t *testing.T) {
	b := newBench(t)
	b.profile("coder", "")
	if err := os.MkdirAll(filepath.Join(b.root, "profiles/coder/gateway_state.json/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context(), "gateway-coder"); err == nil || !strings.Contains(err.Error(), "the next boot will not know of it") || b.wants() != "coder:up" {
		t.Errorf("%v, %s", err, b.wants())
	}
}

func TestOtherServicesAreTheDriversAlone(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	d.up["dashboard"] = false
	if err := errors.Join(b.Start(t.Context(), "dashboard"), b.Restart(t.Context(), "dashboard"), b.Stop(t.Context(), "dashboard")); err != nil {
		t.Fatal(err)
	}
	if status, err := b.Service(t.Context(), "dashboard"); err != nil || status.Want != "down" {
		t.Errorf("%+v, %v", status, err)
	}
	want := []string{"start dashboard", "restart dashboard", "stop dashboard", "status dashboard"}
	if !slices.Equal(d.calls, want) {
		t.Errorf("the driver was asked to %q", d.calls)
	}
	if entries, _ := os.ReadDir(b.root); len(entries) > 0 {
		t.Errorf("%v was written", entries)
	}
}

// What was asked for last of a profile is both what its gateway does and what is written down, whoever asked.
func TestFiftyAtATime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b := newBench(t)
	names := []string{"a", "b", "c", "d", "e"}
	for _, name := range names {
		b.profile(name, "")
	}
	var crowd sync.WaitGroup
	for i := range 50 {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		crowd.Go(func() {
			for range 6 {
				name := names[dice.IntN(len(names))]
				var err error
				switch dice.IntN(5) {
				case 0:
					err = b.Register(t.Context(), name, false)
				case 1:
					err = b.Start(t.Context(), ServiceName(name))
				case 2:
					err = b.Stop(t.Context(), ServiceName(name))
				case 3:
					err = b.Restart(t.Context(), ServiceName(name))
				case 4:
					err = b.Unregister(t.Context(), name)
				}
				if err != nil && !errors.Is(err, supervise.ErrRegistered) && !errors.Is(err, supervise.ErrNotRegistered) {
					t.Error(err)
				}
			}
		})
	}
	crowd.Wait()
	for _, name := range names {
		if err := b.Start(t.Context(), ServiceName(name)); err != nil {
			t.Error(err)
		}
		var pair sync.WaitGroup // the two agree afterwards, whichever was the last
		for range 4 {
			pair.Go(func() { _ = b.Stop(t.Context(), ServiceName(name)) })
			pair.Go(func() { _ = b.Start(t.Context(), ServiceName(name)) })
		}
		pair.Wait()
		status, err := b.Service(t.Context(), ServiceName(name))
		if written := b.state(name).Desired; err != nil || (status.Want == "up") != (written == profile.Running) {
			t.Errorf("%s is wanted %s, and %s is written down: %v", name, status.Want, written, err)
		}
	}
	for _, name := range names {
		if err := b.Unregister(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if got := b.wants(); got != "" {
		t.Errorf("left are %s", got)
	}
}

func TestHealthNamesWhatIsWantedAndNotThere(t *testing.T) {
	b := newBench(t)
	b.profile("coder", "")
	b.profile("zoe", "")
	if err := errors.Join(b.Start(t.Context(), "gateway-coder"), b.Register(t.Context(), "zoe", false)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(t.Context(), "gateway-coder"); err != nil {
		t.Fatal(err)
	}
	if h, err := b.Health(t.Context()); !h.Healthy || len(h.Reasons) > 0 || err != nil {
		t.Errorf("%+v, %v", h, err)
	}
	for want, s := range map[string]supervise.Status{
		"":                               {Name: "x", Want: "up", State: supervise.Parked, Last: &supervise.Exit{Code: 0}},
		"x is parked: bad configuration": {Name: "x", Want: "down", State: supervise.Parked, Last: &supervise.Exit{Code: 78}, Reason: "bad configuration"},
		"x is parked, and not ready":     {Name: "x", Want: "up", State: supervise.Parked},
		"x failed and is to be tried again: ended with 1": {Name: "x", Want: "up", State: supervise.Backoff, Reason: "ended with 1"},
		"x is up, and not ready":                          {Name: "x", Want: "up", State: supervise.Up},
		"x is starting, and not ready":                    {Name: "x", Want: "up", State: supervise.Starting},
	} {
		if got := ailing(s); got != want {
			t.Errorf("%+v: %q", s, got)
		}
	}
	for _, state := range []supervise.State{supervise.Down, supervise.Halting} {
		if got := ailing(supervise.Status{Name: "x", Want: "down", State: state}); got != "" {
			t.Errorf("%s as wanted: %q", state, got)
		}
	}
}

func TestLogsAreReadWhereTheDriverKeepsThem(t *testing.T) {
	b := newBench(t)
	b.profile("coder", "")
	if err := b.Start(t.Context(), "gateway-coder"); err != nil {
		t.Fatal(err)
	}
	r, err := b.Log(t.Context(), "gateway-coder", -1, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.HasSuffix(line, "I am coder\n") {
		t.Errorf("%q, %v", line, err)
	}
	other := benchOf(t, b.root, newFaulty())
	other.driver.(*faulty).up["gateway-coder"] = true
	for service, want := range map[string]string{"gateway-coder": "I am coder\n", "dashboard": "", "gateway-nobody": ""} {
		r, err := other.Log(t.Context(), service, 1, false)
		if want == "" {
			if err == nil {
				t.Errorf("%s has a log", service)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.HasSuffix(line, want) {
			t.Errorf("%s: %q, %v", service, line, err)
		}
		r.Close()
	}
}

func TestAWaitOnADriverThatCannotWait(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	d.up["dashboard"] = true
	if status, err := b.Wait(t.Context(), "dashboard"); err != nil || status.State != supervise.Ready {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := b.Wait(t.Context(), "nobody"); !errors.Is(err, supervise.ErrNotRegistered) {
		t.Errorf("of nobody: %v", err)
	}
}
