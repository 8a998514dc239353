package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// reapedByAge is the reaper on containers that ended when we say: the daemon reads that
// from its own files when it is started.
func reapedByAge(t *testing.T, private *containers.Private) {
	a := newArenaAt(t, private.Client(), private.Host, false)
	now := time.Now().UTC()
	ages := map[string]struct {
		ended string
		reap  bool
	}{
		"old":          {now.Add(-900 * time.Second).Format(time.RFC3339), true},
		"nanoseconds":  {now.Add(-900 * time.Second).Truncate(time.Second).Add(123456789).Format(time.RFC3339Nano), true},
		"another zone": {now.Add(-900 * time.Second).In(time.FixedZone("", 5*3600)).Format(time.RFC3339Nano), true},
		"young":        {now.Add(-300 * time.Second).Format(time.RFC3339), false},
		"never":        {"0001-01-01T00:00:00Z", false},
		"future":       {now.Add(time.Hour).Format(time.RFC3339), false},
		"opened":       {now.Add(-900 * time.Second).Format(time.RFC3339), false},
	}
	ids := make(map[string]string)
	for name := range ages {
		a.must(a.ensure(name), "echo layer > /layer")
		ids[name] = a.one(name)
	}
	other := sandbox.Identity{Home: a.home, Profile: "other", Task: "old"}.Normal()
	a.known = append(a.known, other)
	if _, err := a.manager.Ensure(a.context(), other, a.spec()); err != nil {
		t.Fatal(err)
	}
	found, err := a.api.ContainerInspect(a.context(), "hermes-"+other.Key(), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	others := found.Container.ID
	a.ensure("running")
	a.manager.Close()
	private.Stop()
	root := dataRoot(t, private)
	ended := func(id, when string) {
		file := filepath.Join(root, "containers", id, "config.v2.json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := regexp.MustCompile(`"FinishedAt":"[^"]*"`).ReplaceAllLiteral(text, []byte(`"FinishedAt":"`+when+`"`))
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, age := range ages {
		ended(ids[name], age.ended)
	}
	ended(others, ages["old"].ended)
	private.Start()
	for name, age := range ages {
		if got := a.inspect(ids[name]).State.FinishedAt; got != age.ended {
			t.Fatalf("%s: the daemon says %s, not %s", name, got, age.ended)
		}
	}
	if _, err := a.api.ContainerStart(a.context(), a.one("running"), client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	// As somebody who opens one of them after all that time, threshold 600 s.
	m := sandbox.NewManager(a.engine, sandbox.Options{Lifetime: 300 * time.Second})
	box := a.ensureBy(m, "opened", a.spec())
	if out := a.must(box, "cat /layer").out; out != "layer" {
		t.Errorf("what was opened says %q", out)
	}
	m.Close() // after the sweep
	for name, age := range ages {
		if gone := len(a.containers(name)) == 0; gone != age.reap {
			t.Errorf("%s, which ended at %s: removed %v", name, age.ended, gone)
		}
		if age.reap {
			if kept, err := a.manager.Keeps(a.context(), a.id(name)); err != nil || !kept {
				t.Errorf("%s: its files are kept: %v, %v", name, kept, err)
			}
		}
	}
	if _, err := a.engine.Find(a.context(), other); err != nil {
		t.Errorf("that of another profile: %v", err)
	}
	a.one("running")
}

// dataRoot is where a private daemon keeps its containers.
func dataRoot(t testing.TB, private *containers.Private) string {
	t.Helper()
	root := filepath.Join(filepath.Dir(private.Host[len("unix://"):]), "data")
	if _, err := os.Stat(filepath.Join(root, "containers")); err != nil {
		t.Fatal(err)
	}
	return root
}

// countingEngine counts how often it is asked for all sandboxes.
type countingEngine struct {
	sandbox.Engine
	lists atomic.Int32
}

func (e *countingEngine) List(ctx context.Context, home string) ([]sandbox.Info, error) {
	e.lists.Add(1)
	return e.Engine.List(ctx, home)
}

// Ten who open at once look once for what nobody uses, and never where that is switched off.
func TestTenWhoOpenSweepOnce(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		a := newArena(t)
		e := &countingEngine{Engine: a.engine}
		m := sandbox.NewManager(e, sandbox.Options{NoSweep: off})
		var open sync.WaitGroup
		for i := range 10 {
			id := a.id(fmt.Sprint(i % 3))
			open.Go(func() {
				if _, err := m.Ensure(a.context(), id, a.spec()); err != nil {
					t.Error(err)
				}
			})
		}
		open.Wait()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if want := map[bool]int32{false: 1, true: 0}[off]; e.lists.Load() != want {
			t.Errorf("switched off %v: %d sweeps", off, e.lists.Load())
		}
	}
}

// What somebody opens is there for them, however long ago it ended: it is looked for
// before anything is reaped, and not reaped afterwards.
func TestD04TheReaperSparesWhatIsOpened(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	a.must(a.ensure("t"), "echo layer > /layer")
	a.must(a.ensure("u"), "true")
	for _, task := range []string{"t", "u"} {
		r, err := a.api.ContainerStop(a.context(), a.one(task), client.ContainerStopOptions{})
		do(a, r, err)
	}
	a.manager.Close()
	before := a.one("t")
	m := sandbox.NewManager(&agingEngine{a.engine}, sandbox.Options{})
	if out := a.must(a.ensureBy(m, "t", a.spec()), "cat /layer").out; out != "layer" {
		t.Errorf("it says %q", out)
	}
	m.Close() // after the sweep
	if a.one("t") != before {
		t.Error("it is another container")
	}
	if len(a.containers("u")) > 0 {
		t.Error("the reaper did not come by")
	}
}

// agingEngine says of what has ended that it did so long ago.
type agingEngine struct{ sandbox.Engine }

func (e *agingEngine) List(ctx context.Context, home string) ([]sandbox.Info, error) {
	infos, err := e.Engine.List(ctx, home)
	for i := range infos {
		infos[i] = aged(infos[i])
	}
	return infos, err
}

func (e *agingEngine) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	info, err := e.Engine.Find(ctx, id)
	return aged(info), err
}

func aged(i sandbox.Info) sandbox.Info {
	if !i.Ended.IsZero() {
		i.Ended = i.Ended.Add(-time.Hour)
	}
	return i
}
