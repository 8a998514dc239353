//go:build linux

package shellstate

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

// Whatever a session came to hold can be handed over, and works as before.
func TestStatesOfRealShellsPassTheCheck(t *testing.T) {
	s := bash(t)
	s.want(`export A=1 RAW=$'\xff\x01"' LONG="$(printf 'x%.0s' {1..200000})"; declare -ix N=1; declare -ax L=(a 'b "$c"'); declare -Ax M=([k]=v); export UNSET; declare -rx R=1
		f() { cat <<'E'
g () 
{ 
E
}; g() { echo g; }; export -f g; h() ( echo h ); alias x='echo "it'\''s"' ..='cd ..'; cd /usr`, "")
	if err := s.st.Check(); err != nil {
		t.Fatal(err)
	}
	if len(s.st.Functions) != 3 || len(s.st.Aliases) != 2 || len(s.st.Attrs) < 4 {
		t.Errorf("the state does not hold what it should: %v %v %v", s.st.Functions, s.st.Aliases, s.st.Attrs)
	}
	everyShell(t, func(t *testing.T, s *session) {
		s.want("export A=1; alias x='echo y'; cd /", "")
		if err := s.st.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestTooLargeStatesDoNotPass(t *testing.T) {
	st := State{Env: map[string]string{"A": strings.Repeat("x", MaxReport)}}
	if err := st.Check(); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
}

func TestRebase(t *testing.T) {
	for name, c := range map[string]struct{ session, from, to, want map[string]string }{
		"nothing changed":   {session: env("A=1"), from: env("A=1"), to: env("A=1"), want: env("A=1")},
		"the sandbox did":   {session: env("A=1"), from: env("A=1"), to: env("A=2"), want: env("A=2")},
		"the session did":   {session: env("A=3"), from: env("A=1"), to: env("A=2"), want: env("A=3")},
		"unset here":        {session: env(), from: env("A=1"), to: env("A=2"), want: env()},
		"gone there":        {session: env("A=1", "B=3"), from: env("A=1", "B=1"), to: env(), want: env("B=3")},
		"new there":         {session: env("B=3"), from: env(), to: env("A=1", "B=1"), want: env("A=1", "B=3")},
		"after a login":     {session: env("PATH=/opt:/usr:/bin"), from: env("PATH=/usr:/bin"), to: env("PATH=/new"), want: env("PATH=/opt:/new")},
		"a path of its own": {session: env("PATH=/opt"), from: env("PATH=/usr"), to: env("PATH=/new"), want: env("PATH=/opt")},
	} {
		st := State{Env: maps.Clone(c.session), Cwd: "/was"}
		st.Rebase(State{Env: c.from, Cwd: "/was"}, State{Env: c.to, Cwd: "/is"})
		if !maps.Equal(st.Env, c.want) || st.Cwd != "/is" {
			t.Errorf("%s: %v in %s, not %v", name, st.Env, st.Cwd, c.want)
		}
	}
	st := State{Cwd: "/own"}
	if st.Rebase(State{Cwd: "/was"}, State{Cwd: "/is"}); st.Cwd != "/own" {
		t.Errorf("a session that had gone elsewhere is in %s", st.Cwd)
	}
}

func env(entries ...string) map[string]string {
	m := make(map[string]string)
	for _, e := range entries {
		name, value, _ := strings.Cut(e, "=")
		m[name] = value
	}
	return m
}
