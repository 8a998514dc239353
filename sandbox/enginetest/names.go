package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var nameTests = []test{
	{"names/odd names are sandboxes of their own", oddNames},
	{"names/what cannot be written down is refused", impossibleNames},
	{"names/profiles do not share a task", profilesApart},
	{"names/an empty name is default", emptyName},
}

func oddNames(t *testing.T, s *suite) {
	names := []string{
		"a:b", "a_b", "a b", "a\nb", "a\tb", "a/b", "a.b", "..", "../a", "/", "-rf", "~", "$(id)", "a;b", "\x01", "ünï", "漢字", "\U0001f600",
		strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("ü", 300), "A", "a", "a.", "a ", " a", "hermes", "con", "state.json",
	}
	boxes := make([]*box, len(names))
	for i, name := range names {
		id := s.adopt(t, sandbox.Identity{Home: s.home, Profile: "odd names", Task: name})
		boxes[i] = s.ensure(t, s.manager, id, s.spec())
		boxes[i].output(fmt.Sprintf("echo %d >>/workspace/me; hostname >/dev/null", i))
	}
	for i, b := range boxes {
		b.says("cat /workspace/me", fmt.Sprint(i))
	}
	listed := make(map[string]bool)
	infos, err := s.manager.List(bounded(t), s.home)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Identity.Profile == "odd names" {
			listed[info.Identity.Task] = true
		}
	}
	for _, name := range names {
		if !listed[name] {
			t.Errorf("%q is not listed by its name", name)
		}
	}
}

func impossibleNames(t *testing.T, s *suite) {
	for _, name := range []string{"\xff", "a\x00b"} {
		for _, id := range []sandbox.Identity{{Home: s.home, Task: name}, {Home: s.home, Profile: name}} {
			if _, err := s.manager.Ensure(bounded(t), id, s.spec()); err == nil || !strings.Contains(err.Error(), "is not text") {
				t.Errorf("the error is %v", err)
			}
		}
	}
}

func profilesApart(t *testing.T, s *suite) {
	pairs := [][2]string{{"p", "q.r"}, {"p.q", "r"}, {"default", "p.q.r"}, {"a:b", "c"}, {"a_b", "c"}, {"p", "r"}, {"q", "r"}}
	boxes := make([]*box, len(pairs))
	for i, pair := range pairs {
		id := s.adopt(t, sandbox.Identity{Home: s.home, Profile: pair[0], Task: pair[1]})
		boxes[i] = s.ensure(t, s.manager, id, s.spec())
		boxes[i].output(fmt.Sprintf("echo %d >>/workspace/me", i))
	}
	for i, b := range boxes {
		b.says("cat /workspace/me", fmt.Sprint(i))
	}
}

func emptyName(t *testing.T, s *suite) {
	id := s.adopt(t, sandbox.Identity{Home: s.home, Profile: "empty"})
	me := s.ensure(t, s.manager, id, s.spec()).output(whoami)
	s.ensure(t, s.manager, sandbox.Identity{Home: s.home + "/.", Profile: "empty", Task: "default"}, s.spec()).says(whoami, me)
}
