package enginetest

import (
	"errors"
	"testing"

	"hermes.example/hermes/sandbox"
)

var ephemeralTests = []test{
	{"ephemeral/it ends with its last user and leaves nothing", ephemeralEnds},
	{"ephemeral/closing the manager removes it", ephemeralIsRemoved},
	{"ephemeral/it ends when its process is killed", ephemeralOfKilled},
	{"ephemeral/it has memory for home and workspace", ephemeralInMemory},
	{"ephemeral/it is not made anew behind the caller's back", ephemeralIsNotRecreated},
}

func ephemeral(spec *sandbox.Spec) { spec.Ephemeral = true }

func ephemeralEnds(t *testing.T, s *suite) {
	first := s.box(t, ephemeral)
	me := first.output(whoami)
	second := s.ensure(t, s.manager, first.Identity(), s.spec(ephemeral))
	first.Close()
	second.says(whoami, me)
	second.line("sleep 1000 & true").ended(0, sandbox.Exited)
	second.Close()
	eventually(t, "its guest has ended", func() bool { return s.ended(t, first.Identity()) })
}

func ephemeralIsRemoved(t *testing.T, s *suite) {
	id := s.identity(t)
	m := sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true})
	b := s.ensure(t, m, id, s.spec(ephemeral))
	b.line("echo x >/workspace/file; sleep 1000 & true").ended(0, sandbox.Exited)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	// Without waiting for anything: the removal comes before the return.
	s.nothing(t, id)
}

func ephemeralOfKilled(t *testing.T, s *suite) {
	engine, home := s.config.New(t)
	id := s.adopt(t, sandbox.Identity{Home: home, Task: "killed"})
	other := s.elsewhere(t, errand{Identity: id, Spec: s.spec(ephemeral), Line: "echo ready; sleep 1000", Detached: true})
	other.reads("ready\n")
	other.kill()
	m := s.another(t, engine)
	eventually(t, "its guest has ended", func() bool { return s.ended(t, id) })
	// Whoever comes next takes its traces away.
	if _, err := m.Prune(bounded(t), home, false); err != nil {
		t.Error(err)
	}
	if infos, err := m.List(bounded(t), home); err != nil || len(ours(infos)) > 0 {
		t.Errorf("it is still listed: %+v %v", infos, err)
	}
	s.nothing(t, id)
}

func ephemeralInMemory(t *testing.T, s *suite) {
	s.need(t, OwnRoot)
	b := s.box(t, ephemeral, func(spec *sandbox.Spec) { spec.Limits.Memory = -1 })
	b.says("pwd; stat -f -c %T /root /home /workspace /tmp | sort -u; echo x >~/a; echo y >b; echo z >/home/c; cat ~/a b /home/c", "/workspace\ntmpfs\nx\ny\nz")
	b.says("for d in /workspace /home /root; do echo $(( $(stat -f -c '%b * %S >> 20' $d) )); done", "10240\n1024\n1024")
}

func ephemeralIsNotRecreated(t *testing.T, s *suite) {
	b := s.box(t, ephemeral)
	b.output("true")
	s.removed(b)
	if _, err := b.Exec(bounded(t), sandbox.Command{Line: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the error is %v", err)
	}
	s.nothing(t, b.Identity())
}
