package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestD09EveryNameHasItsOwnSandbox(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		tasks := []string{
			"", "plain", "a:b", "a_b", "a/b", "a b", "a\nb", "..", ".", "../..", "/", "//", "-rf", "--", ".hidden", "trailing.", "___", "a\tb",
			"unicode-é-日本-🙂", "unicode-e", strings.Repeat("x", 300), strings.Repeat("x", 299), strings.Repeat("x", 128), strings.Repeat("é", 150),
			"$(touch /tmp/pwned)", "`id`", "%s%n", "native", "CON", "a_b-" + "0123456789ab",
		}
		// A task that is called what another one's cleaned name is.
		for _, task := range []string{"a:b", "a/b", ".."} {
			tasks = append(tasks, a.id(task).Name())
		}
		for _, task := range []string{"a\x00b", "\xff\xfe"} { // no text, and so no name
			if _, err := a.manager.Ensure(t.Context(), a.id(task), sandbox.Spec{}); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", task, err)
			}
		}
		paths := make(map[string]string)
		for _, task := range tasks {
			box := a.ensure(task, sandbox.Spec{})
			if out := a.must(box, "cat me 2>/dev/null; echo -n mine > me"); out != "" {
				t.Errorf("%.40q found what is another's: %q", task, out)
			}
			a.must(box, "hostname > /dev/null; test \"$(cat me)\" = mine")
			dir := a.id(task).Name()
			if other, taken := paths[dir]; taken {
				t.Errorf("%.40q and %.40q share %s", task, other, dir)
			}
			paths[dir] = task
			if strings.ContainsAny(dir, "/\x00\n ") || dir == "." || dir == ".." || len(dir) > 255 {
				t.Errorf("%.40q has the file name %q", task, dir)
			}
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		}
		a.onlySandboxes(len(tasks))
		if _, err := os.Stat("/tmp/pwned"); err == nil {
			t.Error("a name was run")
		}
		infos, err := a.manager.List(t.Context(), a.home)
		if err != nil || len(infos) != len(tasks) {
			t.Errorf("%d are listed of %d: %v", len(infos), len(tasks), err)
		}
		// Removing one takes only that one, also when names are alike.
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		for _, task := range []string{"a:b", ".."} {
			if err := a.manager.Remove(ctx, a.id(task), true); err != nil {
				t.Error(err)
			}
		}
		for _, task := range []string{"a_b", "a/b", a.id("a:b").Name(), "."} {
			if out := a.must(a.ensure(task, sandbox.Spec{}), "cat me"); out != "mine" {
				t.Errorf("%q lost its files", task)
			}
		}
	})
}

// onlySandboxes checks that nothing else was made in the home, nor outside of it.
func (a *arena) onlySandboxes(n int) {
	a.Helper()
	if got := names(a.home); !slices.Equal(got, []string{"sandboxes"}) {
		a.Errorf("the home holds %q", got)
	}
	if got := names(filepath.Join(a.home, "sandboxes")); !slices.Equal(got, []string{"native"}) {
		a.Errorf("its sandboxes hold %q", got)
	}
	if got := names(filepath.Join(a.home, "sandboxes", "native")); len(got) != n {
		a.Errorf("%d directories for %d sandboxes: %q", len(got), n, got)
	}
	if got := names(filepath.Dir(a.home)); !slices.Equal(got, []string{"home", "run"}) {
		a.Errorf("beside the home are %q", got)
	}
}

func TestD09ProfilesAreApart(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		for _, id := range []sandbox.Identity{
			{Profile: "p", Task: "t"}, {Profile: "p.t", Task: "x"}, {Profile: "p", Task: "t.x"}, {Profile: "default", Task: "p.t"}, {Profile: "..", Task: ".."},
			{Profile: "p/q", Task: "t"}, {Profile: "p", Task: "q/t"}, {Profile: strings.Repeat("p", 300), Task: strings.Repeat("t", 300)},
			{Task: sandbox.Identity{Home: a.home, Profile: "p", Task: "t"}.Name()},
		} {
			id.Home = a.home
			a.known = append(a.known, id.Normal())
			box, err := a.manager.Ensure(ctx, id, sandbox.Spec{})
			if err != nil {
				t.Errorf("%.80v: %v", id, err)
				continue
			}
			if out := a.must(box, "cat me 2>/dev/null; echo -n mine > me"); out != "" {
				t.Errorf("%.80v found what is another's: %q", id, out)
			}
		}
	})
}

// A sandbox that was removed without its files leaves them to its identity alone.
func TestD09KeptFilesAreNotAnothers(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		for i, task := range []string{"a:b", "secret/x"} {
			a.must(a.ensure(task, sandbox.Spec{}), fmt.Sprintf("echo secret %d > me", i))
			if err := a.manager.Remove(ctx, a.id(task), false); err != nil {
				t.Fatal(err)
			}
			impostor := a.id(task).Name()
			box, err := a.manager.Ensure(ctx, a.id(impostor), sandbox.Spec{})
			if err != nil {
				t.Logf("%q: %v", impostor, err)
				continue
			}
			if out := a.must(box, "cat me 2>/dev/null; true"); out != "" {
				t.Errorf("%q reads what %q kept: %q", impostor, task, out)
			}
		}
	})
}
