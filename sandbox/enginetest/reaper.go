package enginetest

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

var reaperTests = []test{
	{"reaper/an unused sandbox is asked to end and does", unusedRetires},
	{"reaper/a live background process keeps it", backgroundKeeps},
	{"reaper/a hold or a command keeps it", useKeeps},
	{"reaper/who only looks does not keep it", looksKeepNothing},
	{"reaper/one that was used too recently stays", recentStays},
	{"reaper/prune removes every trace when it is told to", pruneAll},
}

// retires asks the guest itself, the way the reaper does, to end if it has been
// unused for idle: the reaper's own window is too long for a test.
func (s *suite) retires(t *testing.T, id sandbox.Identity, idle time.Duration) bool {
	t.Helper()
	stream := s.observe(t, id)
	defer stream.Close()
	if err := wire.NewWriter(stream).WriteMessage(wire.TypeRetire, wire.Retire{Idle: idle}); err != nil && !s.ended(t, id) {
		t.Fatal(err)
	}
	answer, err := wire.NewReader(stream).Next()
	if err != nil && s.ended(t, id) {
		return true // before its answer could be read
	}
	if err != nil || answer.Type != wire.TypeRetired && answer.Type != wire.TypeBusy {
		t.Fatalf("the guest answers with %d, %v", answer.Type, err)
	}
	return answer.Type == wire.TypeRetired
}

// observer speaks to the guest as somebody who only looks at it, and does not count as
// its user.
type observer struct {
	net.Conn // one stream
	hello    wire.Hello
	mux      io.Closer
}

func (o observer) Close() error { return o.mux.Close() }

func (s *suite) observe(t *testing.T, id sandbox.Identity) observer {
	t.Helper()
	line, err := s.engine.Connect(bounded(t), id)
	if err != nil {
		t.Fatal(err)
	}
	mux, hello, err := wire.Dial(line, wire.Hello{Major: wire.Major, Minor: wire.Minor, Observer: true})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	stream.SetDeadline(time.Now().Add(hang))
	return observer{stream, hello, mux}
}

// ended says whether the sandbox's guest answers no more.
func (s *suite) ended(t *testing.T, id sandbox.Identity) bool {
	t.Helper()
	_, err := s.manager.StatusOf(bounded(t), id)
	return errors.Is(err, sandbox.ErrGone) || errors.Is(err, sandbox.ErrNotFound)
}

// release gives the hold up and waits until the guest knows.
func (s *suite) release(b *box) {
	b.t.Helper()
	b.Close()
	eventually(b.t, "nobody holds it", func() bool {
		st, err := s.manager.StatusOf(bounded(b.t), b.Identity())
		if err != nil {
			b.t.Fatal(err)
		}
		return st.Connections == 0
	})
}

func unusedRetires(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("true")
	s.release(b)
	if !s.retires(t, b.Identity(), 0) {
		t.Fatal("it stays although nobody uses it")
	}
	eventually(t, "its guest has ended", func() bool { return s.ended(t, b.Identity()) })
	s.ensure(t, s.manager, b.Identity(), s.spec()).says("echo well", "well")
}

func backgroundKeeps(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/pid")
	s.release(b)
	if s.retires(t, b.Identity(), 0) {
		t.Fatal("it ended although a process lives in it")
	}
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.output("kill -0 $(cat /tmp/pid) && kill $(cat /tmp/pid)")
	again.empties()
	s.release(again)
	if !s.retires(t, b.Identity(), 0) {
		t.Error("it stays although its process is gone")
	}
}

func useKeeps(t *testing.T, s *suite) {
	b := s.box(t)
	if s.retires(t, b.Identity(), 0) {
		t.Fatal("it ended although it is held")
	}
	other := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Detached: true, Line: "echo ready; until [ -e /tmp/go ]; do sleep 0.02; done"})
	other.reads("ready\n")
	other.kill()
	s.release(b)
	if s.retires(t, b.Identity(), 0) {
		t.Fatal("it ended although a command runs in it")
	}
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.output(": >/tmp/go")
}

func looksKeepNothing(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("true")
	looker, err := s.manager.Observe(bounded(t), b.Identity())
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	if st, err := looker.Status(bounded(t)); err != nil || st.Connections != 1 {
		t.Errorf("who looks sees %d connections and not that of the one who uses it: %v", st.Connections, err)
	}
	s.release(b)
	if _, err := looker.Processes(bounded(t)); err != nil {
		t.Error(err)
	}
	if _, err := looker.PastEvents(bounded(t), 0); err != nil {
		t.Error(err)
	}
	if !s.retires(t, b.Identity(), 0) {
		t.Fatal("it stays although somebody only looks at it")
	}
	eventually(t, "its guest has ended", func() bool { return s.ended(t, b.Identity()) })
	if _, err := looker.Processes(bounded(t)); err == nil {
		t.Error("it was made anew for who only looks")
	}
	if _, err := s.manager.Observe(bounded(t), b.Identity()); !errors.Is(err, sandbox.ErrNotFound) && !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("one that does not run is looked at: %v", err)
	}
}

func recentStays(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	s.release(b)
	if s.retires(t, b.Identity(), s.manager.Window()) {
		t.Fatal("it ended although it was used a moment ago")
	}
	// Through the reaper itself, which has no shorter window to offer.
	engine, home := s.config.New(t)
	m := s.another(t, engine)
	id := s.adopt(t, sandbox.Identity{Home: home, Task: "recent"})
	s.ensure(t, m, id, s.spec()).Close()
	report, err := m.Prune(bounded(t), home, false)
	if err != nil || len(report.Removed) > 0 || !slices.Contains(report.Kept, id) {
		t.Errorf("pruning did %+v, %v", report, err)
	}
	s.ensure(t, s.manager, b.Identity(), s.spec()).says(whoami, me)
}

func pruneAll(t *testing.T, s *suite) {
	engine, home := s.config.New(t)
	m := s.another(t, engine)
	var ids []sandbox.Identity
	for _, task := range []string{"busy", "idle", "stopped", "a:b"} {
		id := s.adopt(t, sandbox.Identity{Home: home, Profile: strings.Repeat("p", len(task)), Task: task})
		ids = append(ids, id)
		b := s.ensure(t, m, id, s.spec())
		b.line("echo x >/workspace/file; sleep 1000 & true").ended(0, sandbox.Exited)
		switch task {
		case "idle":
			b.Close()
		case "stopped":
			if !strings.Contains(b.output("kill $(pidof sleep); echo ok"), "ok") {
				t.Error("its process goes on")
			}
			b.empties()
			s.release(b)
			if !s.retires(t, id, 0) {
				t.Error("it stays although nobody uses it")
			}
		}
	}
	report, err := m.Prune(bounded(t), home, true)
	if err != nil || len(report.Removed) != len(ids) || len(report.Kept) > 0 {
		t.Errorf("pruning did %+v, %v", report, err)
	}
	for _, id := range ids {
		s.nothing(t, id)
	}
	if infos, err := m.List(bounded(t), home); err != nil || len(ours(infos)) > 0 {
		t.Errorf("left: %+v %v", infos, err)
	}
}
