package sandbox_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

func TestWindowIsTwiceTheLifetimeWithAFloor(t *testing.T) {
	for lifetime, want := range map[time.Duration]time.Duration{
		0: 600 * time.Second, time.Second: 120 * time.Second, 60 * time.Second: 120 * time.Second,
		300 * time.Second: 600 * time.Second, time.Hour: 2 * time.Hour,
	} {
		if got := sandbox.NewManager(newFake(), sandbox.Options{Lifetime: lifetime}).Window(); got != want {
			t.Errorf("%s: the window is %s, not %s", lifetime, got, want)
		}
	}
}

const long = 24 * time.Hour

// zoo is a home with a sandbox of each kind that a reaper meets.
func zoo(e *fakeEngine, home string) map[string]*fakeBox {
	id := func(task string) sandbox.Identity { return sandbox.Identity{Home: home, Task: task} }
	boxes := map[string]*fakeBox{
		"opened":     e.add(id("opened"), wire.Status{Idle: long}),
		"unused":     e.add(id("unused"), wire.Status{Idle: long}),
		"held":       e.add(id("held"), wire.Status{Idle: long, Connections: 1}),
		"running":    e.add(id("running"), wire.Status{Idle: long, Commands: 1}),
		"background": e.add(id("background"), wire.Status{Idle: long, Processes: 1}),
		"recent":     e.add(id("recent"), wire.Status{Idle: time.Minute}),
		"stopped":    e.add(id("stopped"), wire.Status{}),
		"foreign":    e.add(sandbox.Identity{Home: home, Profile: "other", Task: "foreign"}, wire.Status{Idle: long}),
		"elsewhere":  e.add(sandbox.Identity{Home: home + "/other", Task: "elsewhere"}, wire.Status{Idle: long}),
	}
	boxes["stopped"].info.State = sandbox.Stopped
	return boxes
}

// reaped lists who was removed.
func (e *fakeEngine) reaped() (tasks []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range e.removed {
		tasks = append(tasks, id.Task)
	}
	slices.Sort(tasks)
	return tasks
}

func TestD04TheSweepNeverTakesWhatIsBeingOpened(t *testing.T) {
	e, home := newFake(), t.TempDir()
	boxes := zoo(e, home)
	m := manage(t, e, sandbox.Options{})
	if _, err := m.Ensure(t.Context(), sandbox.Identity{Home: home, Task: "opened"}, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil { // which waits for the sweep
		t.Fatal(err)
	}
	if len(e.created) > 0 {
		t.Errorf("%v was made anew", e.created)
	}
	if len(boxes["opened"].asked) > 0 {
		t.Error("the sandbox that is being opened was asked to end")
	}
}

func TestD05OnlyWhatNobodyUsesIsReaped(t *testing.T) {
	e, home := newFake(), t.TempDir()
	boxes := zoo(e, home)
	m := manage(t, e, sandbox.Options{Lifetime: 100 * time.Second})
	if _, err := m.Ensure(t.Context(), sandbox.Identity{Home: home, Task: "opened"}, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if got := e.reaped(); !slices.Equal(got, []string{"unused"}) {
		t.Errorf("reaped: %q", got)
	}
	if asked := boxes["unused"].asked; len(asked) != 1 || asked[0] != 200*time.Second {
		t.Errorf("it was asked for %v without a use", asked)
	}
	for _, task := range []string{"stopped", "foreign", "elsewhere"} {
		if len(boxes[task].asked) > 0 {
			t.Errorf("%s was asked to end", task)
		}
	}
}

func TestSweepCanBeSwitchedOff(t *testing.T) {
	e, home := newFake(), t.TempDir()
	zoo(e, home)
	m := manage(t, e, sandbox.Options{NoSweep: true})
	if _, err := m.Ensure(t.Context(), sandbox.Identity{Home: home, Task: "opened"}, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if got := e.reaped(); len(got) > 0 || e.sweeps > 0 {
		t.Errorf("reaped: %q, %d sweeps", got, e.sweeps)
	}
}

func TestManyWhoOpenSweepOnce(t *testing.T) {
	e, home := newFake(), t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for range 3 {
		m := sandbox.NewManager(e, sandbox.Options{})
		for _, task := range []string{"a", "b", "c"} {
			if _, err := m.Ensure(t.Context(), sandbox.Identity{Home: home, Task: task}, sandbox.Spec{}); err != nil {
				t.Fatal(err)
			}
		}
		m.Close()
	}
	if e.sweeps != 1 {
		t.Errorf("%d sweeps", e.sweeps)
	}
}

func TestPruneReapsAllProfilesAndReports(t *testing.T) {
	e, home := newFake(), t.TempDir()
	zoo(e, home)
	m := manage(t, e, sandbox.Options{NoSweep: true})
	report, err := m.Prune(t.Context(), home, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.reaped(); !slices.Equal(got, []string{"foreign", "opened", "unused"}) {
		t.Errorf("reaped: %q", got)
	}
	if len(report.Removed) != 3 || len(report.Kept) != 5 || e.sweeps != 1 {
		t.Errorf("the report is %+v after %d sweeps", report, e.sweeps)
	}
}

func TestAFailedLookupIsNeverACreation(t *testing.T) {
	e := newFake()
	e.find = errors.New("no answer")
	m := manage(t, e, sandbox.Options{NoSweep: true})
	id := sandbox.Identity{Home: t.TempDir(), Task: "x"}
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{}); !errors.Is(err, e.find) || !strings.Contains(err.Error(), `cannot look for the sandbox "x"`) {
		t.Errorf("the error is %v", err)
	}
	if len(e.created) > 0 {
		t.Error("a sandbox was made")
	}
}

// Who removed an ephemeral sandbox does not remove what has its name later, and keeps nothing of it.
func TestWhatWasRemovedIsNotRemovedAgain(t *testing.T) {
	e := newFake()
	m := manage(t, e, sandbox.Options{NoSweep: true})
	id := sandbox.Identity{Home: t.TempDir(), Task: "one"}
	box, err := m.Ensure(t.Context(), id, sandbox.Spec{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	box.Close()
	if err := m.Remove(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	e.add(id, wire.Status{})
	if err := m.Close(); err != nil || len(e.removed) != 1 || len(e.boxes) != 1 {
		t.Errorf("removed %v, left %d: %v", e.removed, len(e.boxes), err)
	}
}

func TestAnOlderGuestIsReplacedOnlyWhenItIsIdle(t *testing.T) {
	for _, busy := range []bool{false, true} {
		e, home := newFake(), t.TempDir()
		id := sandbox.Identity{Home: home, Task: "old"}
		lease := wire.Status{}
		if busy {
			lease.Commands = 1
		}
		e.add(id, lease).info.Build = "before"
		m := manage(t, e, sandbox.Options{NoSweep: true, Refuse: true})
		if _, err := m.Ensure(t.Context(), id, sandbox.Spec{}); err != nil {
			t.Errorf("busy %v: %v", busy, err)
		}
		if replaced := len(e.created) == 1; replaced == busy {
			t.Errorf("busy %v, replaced %v", busy, replaced)
		}
	}
}

func TestAGuestThatIsEndingIsReplaced(t *testing.T) {
	e := newFake()
	id := sandbox.Identity{Home: t.TempDir(), Task: "ending"}
	e.add(id, wire.Status{}).gone = true // found, and takes no callers
	m := manage(t, e, sandbox.Options{NoSweep: true})
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	if len(e.removed) != 1 || len(e.created) != 1 {
		t.Errorf("removed %v, created %v", e.removed, e.created)
	}
}

func TestWhatTheSpecDemandsIsAskedOfAnExistingSandbox(t *testing.T) {
	e := newFake()
	id := sandbox.Identity{Home: t.TempDir(), Task: "x"}
	e.add(id, wire.Status{})
	m := manage(t, e, sandbox.Options{NoSweep: true})
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{Require: []string{sandbox.FactSeccomp}}); err != nil {
		t.Error(err)
	}
	var posture *sandbox.PostureError
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{Require: []string{sandbox.FactMemory}}); !errors.As(err, &posture) {
		t.Errorf("the error is %v", err)
	}
	if len(e.removed) > 0 {
		t.Error("it was removed")
	}
}

// A guest that is too old to hand its sessions over is replaced all the same, and
// somebody is told.
func TestSessionsOfAnOldGuestBeginAnewAndThatIsSaid(t *testing.T) {
	e, home := newFake(), t.TempDir()
	id := sandbox.Identity{Home: home, Task: "t"}
	e.add(id, wire.Status{Sessions: []string{"s"}}).info.Build = "old"
	var said strings.Builder
	m := manage(t, e, sandbox.Options{NoSweep: true, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "too old to hand its sessions over") {
		t.Errorf("said: %q", said.String())
	}
	if len(e.created) != 1 {
		t.Errorf("made: %v", e.created)
	}
}
