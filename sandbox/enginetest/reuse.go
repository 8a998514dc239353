package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hermes.example/hermes/sandbox"
)

var reuseTests = []test{
	{"reuse/a second manager finds the sandbox", secondManager},
	{"reuse/another process finds the sandbox", anotherProcess},
	{"reuse/many who ensure at once get one", manyEnsure},
	{"reuse/attaching never makes one", attachNeverMakes},
	{"reuse/a lookup that fails is never a creation", failedLookup},
	{"reuse/a creation that loses attaches", lostCreation},
	{"reuse/a listing has what there is", listing},
	{"reuse/homes do not see each other", homesApart},
}

// whoami tells sandboxes apart that have the same files: it is made anew with
// each guest.
const whoami = "[ -e /tmp/id ] || { cat /proc/sys/kernel/random/uuid >/tmp/id.$$; ln /tmp/id.$$ /tmp/id; } 2>/dev/null; cat /tmp/id"

func secondManager(t *testing.T, s *suite) {
	first := s.box(t)
	me := first.output(whoami)
	second := s.ensure(t, s.another(t, s.engine), first.Identity(), s.spec())
	second.says(whoami, me)
	// Lines of commands that have just ended may count for a moment.
	eventually(t, "one other holds it", func() bool { return second.status().Connections == 1 })
	first.Close()
	eventually(t, "the first hold is given up", func() bool { return second.status().Connections == 0 })
	second.says(whoami, me)
}

func anotherProcess(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	for range 2 {
		if result, out := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Line: whoami}).done(); result.Code != 0 || result.Recreated || out != me+"\n" {
			t.Errorf("the other process is in %q, not in %q: %+v", out, me, result)
		}
	}
	b.says(whoami, me)
}

func manyEnsure(t *testing.T, s *suite) {
	id := s.identity(t)
	found := make(chan string, 100)
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for range 8 {
		m := s.another(t, s.engine)
		all.Go(func() {
			held, err := m.Ensure(bounded(t), id, s.spec())
			if err != nil {
				t.Error(err)
				return
			}
			found <- s.hold(t, held, s.spec()).output(whoami)
		})
	}
	for range 6 {
		c := s.elsewhere(t, errand{Identity: id, Spec: s.spec(), Line: whoami})
		all.Go(func() {
			v, out := c.wait()
			if v.Error != "" {
				t.Error(v.Error)
			}
			found <- strings.TrimSpace(out)
		})
	}
	all.Wait()
	close(found)
	names := make(map[string]int)
	for name := range found {
		names[name]++
	}
	if len(names) != 1 {
		t.Errorf("they are in %d sandboxes: %v", len(names), names)
	}
}

func attachNeverMakes(t *testing.T, s *suite) {
	id := s.identity(t)
	if _, err := s.manager.Attach(bounded(t), id); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
	if !s.gone(t, id) {
		t.Error("a sandbox was made")
	}
	b := s.ensure(t, s.manager, id, s.spec())
	me := b.output(whoami)
	attached, err := s.another(t, s.engine).Attach(bounded(t), id)
	if err != nil {
		t.Fatal(err)
	}
	s.hold(t, attached, s.spec()).says(whoami, me)
}

// faulty is an engine that cannot say whether there is a sandbox.
type faulty struct {
	sandbox.Engine
	find    error
	created atomic.Int64
}

func (f *faulty) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	if f.find != nil {
		return sandbox.Info{}, f.find
	}
	return f.Engine.Find(ctx, id)
}

func (f *faulty) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	f.created.Add(1)
	return f.Engine.Create(ctx, id, spec)
}

func failedLookup(t *testing.T, s *suite) {
	id := s.identity(t)
	f := &faulty{Engine: s.engine, find: errors.New("the engine does not answer")}
	m := s.another(t, f)
	if _, err := m.Ensure(bounded(t), id, s.spec()); !errors.Is(err, f.find) {
		t.Errorf("the error is %v", err)
	}
	if f.created.Load() != 0 || !s.gone(t, id) {
		t.Error("a sandbox was made")
	}
	f.find = nil
	s.ensure(t, m, id, s.spec()).says("echo well", "well")
}

// blind is an engine whose first look comes too early.
type blind struct {
	sandbox.Engine
	looked atomic.Int64
}

func (b *blind) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	if b.looked.Add(1) == 1 {
		return sandbox.Info{}, sandbox.ErrNotFound
	}
	return b.Engine.Find(ctx, id)
}

func lostCreation(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	if _, err := s.engine.Create(bounded(t), b.Identity(), s.spec()); !errors.Is(err, sandbox.ErrExists) {
		t.Errorf("the second creation ends with %v", err)
	}
	s.ensure(t, s.another(t, &blind{Engine: s.engine}), b.Identity(), s.spec()).says(whoami, me)
	b.says(whoami, me)
}

func listing(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"TOKEN": "hidden-value"} })
	find := func() (found []sandbox.Info) {
		all, err := s.manager.List(bounded(t), s.home)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(all, func(i sandbox.Info) bool { return i.Identity != b.Identity() })
	}
	infos := find()
	if len(infos) != 1 {
		t.Fatalf("it is listed %d times", len(infos))
	}
	info := infos[0]
	if info.State != sandbox.Running || info.Engine != s.engine.Name() || info.Build != s.engine.Capabilities().GuestBuild || info.Created.IsZero() {
		t.Errorf("it is listed as %+v", info)
	}
	if strings.Contains(fmt.Sprintf("%+v", info), "hidden-value") {
		t.Error("the listing has the value of a variable")
	}
	st, err := s.manager.StatusOf(bounded(t), b.Identity())
	if err != nil || st.Connections != 1 {
		t.Errorf("its lease is %+v, %v", st, err)
	}
	if again := b.status(); again.Connections != 0 { // looking at it is no use of it
		t.Errorf("its lease is %+v", again)
	}
	s.removed(b)
	if infos := find(); len(infos) != 0 {
		t.Errorf("it is still listed: %+v", infos)
	}
}

func homesApart(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("echo mine >/workspace/file")
	engine, home := s.config.New(t)
	m := s.another(t, engine)
	id := sandbox.Identity{Home: home, Task: b.Identity().Task}.Normal()
	s.adopt(t, id)
	other := s.ensure(t, m, id, s.spec())
	other.line("[ -e /workspace/file ]").ended(1, sandbox.Exited)
	if infos, err := m.List(bounded(t), home); err != nil || len(infos) != 1 {
		t.Errorf("%d sandboxes are in the other home, %v", len(infos), err)
	}
	report, err := m.Prune(bounded(t), home, true)
	if err != nil || len(report.Removed) != 1 {
		t.Errorf("pruning the other home did %+v, %v", report, err)
	}
	b.says("cat /workspace/file", "mine")
}
