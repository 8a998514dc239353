package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func rollback(t *testing.T, s *Store) (Generation, error) {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	return w.Rollback(t.Context())
}

func TestRollbackGoesBackOneByOne(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	if _, err := rollback(t, s); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("in an empty store: %v", err)
	}
	one := publish(t, s, "a.one")
	if _, err := rollback(t, s); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("to nothing: %v", err)
	}
	two := publish(t, s, "a.one", "b.two")
	three := publish(t, s, "a.one") // the first once more
	if three != one {
		t.Fatalf("%v %v", one, three)
	}
	for _, want := range []Generation{two, one} {
		if g, err := rollback(t, s); err != nil || g != want {
			t.Fatalf("%v, not %v: %v", g, want, err)
		}
	}
	if _, err := rollback(t, s); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("before the first: %v", err)
	}
	// What was rolled back is not in the way of what comes next.
	four := publish(t, s, "a.one", "c.three")
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.Current != (l.Generation == four) || l.Previous != (l.Generation == one) {
			t.Errorf("%+v", l)
		}
	}
	if g, err := rollback(t, s); err != nil || g != one {
		t.Errorf("%v %v", g, err)
	}
	if err := errors.Join(whole(s, "a.one"), nothingLeft(s)); err != nil {
		t.Error(err)
	}
}

// replace publishes the features in another form.
func replace(t *testing.T, s *Store, features ...string) Generation {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	staged, m := stage(t, w, features...)
	m.Compiled = true
	g, err := w.Replace(t.Context(), staged, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWhatWasReplacedIsNoStepBack(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	one := replace(t, s, "a.one")
	plain := publish(t, s, "a.one", "b.two")
	two := replace(t, s, "a.one", "b.two")
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.Current != (l.Generation == two) || l.Previous != (l.Generation == one) {
			t.Errorf("%+v", l)
		}
	}
	collect(t, s, Collect{Keep: 1})
	if there(plain) || !there(one) || !there(two) {
		t.Error("what was replaced is kept in the place of what was before it")
	}
	if g, err := rollback(t, s); err != nil || g != one {
		t.Errorf("%v, not %v: %v", g, one, err)
	}
	if _, err := rollback(t, s); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("before the first: %v", err)
	}
	if err := wants(s, "a.one"); err != nil {
		t.Error(err)
	}
	// With nothing there is nothing to replace.
	empty := open(t, t.TempDir(), abi311, tag311)
	w := writer(t, empty)
	defer w.Close()
	staged, m := stage(t, w, "a.one")
	if _, err := w.Replace(t.Context(), staged, m, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing was replaced: %v", err)
	}
}

func TestWhatIsWantedFollowsARollback(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one", "b.two")
	publish(t, s, "a.one", "c.three")
	w := writer(t, s)
	wanted, err := w.Desired()
	if err == nil {
		err = w.SetDesired(append(wanted, "z.elsewhere")) // cannot be had for this ABI
	}
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rollback(t, s); err != nil {
		t.Fatal(err)
	}
	if wanted, err := s.Desired(); err != nil || !slices.Equal(wanted, []string{"a.one", "b.two", "z.elsewhere"}) {
		t.Errorf("%v %v", wanted, err)
	}
}

// TestD50WhatIsWantedIsRemembered asks after everything that takes features away.
func TestD50WhatIsWantedIsRemembered(t *testing.T) {
	target := t.TempDir()
	old := open(t, target, abi311, tag311)
	publish(t, old, "a.one", "b.two", "c.three")
	publish(t, old, "a.one", "c.three") // b.two was removed
	now := open(t, target, abi312, tag312)
	publish(t, now, "a.one") // c.three cannot be had for the new interpreter
	if wanted, err := now.Desired(); err != nil || !slices.Equal(wanted, []string{"a.one", "c.three"}) {
		t.Errorf("after a change of the ABI: %v %v", wanted, err)
	}
	w := writer(t, now)
	if _, err := w.GC(t.Context(), Collect{OtherABIs: true}); err != nil {
		t.Error(err)
	}
	w.Close()
	if err := removeTree(now.own()); err != nil {
		t.Fatal(err)
	}
	if wanted, err := now.Desired(); err != nil || !slices.Equal(wanted, []string{"a.one", "c.three"}) {
		t.Errorf("after everything was removed: %v %v", wanted, err)
	}
	publish(t, now, "a.one", "c.three")
	if err := whole(now, "a.one", "c.three"); err != nil {
		t.Error(err)
	}
}

// TestWhatCannotBeReadIsNotForgotten spoils the files that a crash cannot spoil.
func TestWhatCannotBeReadIsNotForgotten(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	for _, path := range []string{s.desired(), s.history()} {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, good[:len(good)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		w := writer(t, s)
		if _, err := install(t.Context(), w, "a.one", "b.two"); err == nil {
			t.Errorf("%s was made anew", filepath.Base(path))
		}
		w.Close()
		if err := whole(s, "a.one"); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheHistoryIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	w := writer(t, s)
	defer w.Close()
	for i := range remembered + 5 {
		g := s.generation(string(rune('a' + i%2)))
		next, err := w.pastWith(g, "")
		if err == nil {
			err = w.save(w.history(), next)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.swap(g); err != nil {
			t.Fatal(err)
		}
	}
	if all, at, err := s.readPast(); err != nil || len(all) != remembered || at != remembered-1 {
		t.Errorf("%d, at %d: %v", len(all), at, err)
	}
}
