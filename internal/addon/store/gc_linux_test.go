package store

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

func collect(t *testing.T, s *Store, c Collect) Collected {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	done, err := w.GC(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(done.Removed)
	return done
}

func there(g Generation) bool {
	_, err := os.Lstat(g.Dir)
	return err == nil
}

func TestNobodysGenerationsAreCollected(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one, two, three := publish(t, s, "a.one"), publish(t, s, "b.two"), publish(t, s, "c.three")
	held, err := one.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if done := collect(t, s, Collect{Keep: 1}); len(done.Removed) > 0 || len(done.Stayed) != 1 || done.Stayed[0] != (Stayed{one.Digest, errInUse.Error()}) {
		t.Errorf("while it is used: %+v", done)
	}
	if problems, err := s.Verify(t.Context(), one); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	held.Close()
	if done := collect(t, s, Collect{Keep: 1}); !slices.Equal(done.Removed, []string{one.Digest}) || len(done.Stayed) > 0 || there(one) || !there(two) {
		t.Errorf("%+v", done)
	}
	if _, err := one.Hold(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone can be held: %v", err)
	}
	if done := collect(t, s, Collect{Keep: -1}); !slices.Equal(done.Removed, []string{two.Digest}) || !there(three) {
		t.Errorf("%+v", done)
	}
	if done := collect(t, s, Collect{}); len(done.Removed)+len(done.Stayed) > 0 {
		t.Errorf("the current one: %+v", done)
	}
	if err := errors.Join(whole(s, "c.three"), nothingLeft(s)); err != nil {
		t.Error(err)
	}
}

// TestAReaderThatComesTooLateIsToldSo gets the lock of a generation that was removed after it was opened.
func TestAReaderThatComesTooLateIsToldSo(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	publish(t, s, "b.two")
	collecting, err := flock(one.Dir+"/"+lockFile, true)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := one.Hold(); err == nil {
		f.Close()
		t.Error("it is held while it is removed")
	}
	collecting.Close()
	late, err := flock(one.Dir+"/"+lockFile, false)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if !same(late, late.Name()) {
		t.Error("it is there, and not seen")
	}
	if err := os.Rename(one.Dir, one.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	if same(late, late.Name()) {
		t.Error("it is away, and not missed")
	}
}

func TestOtherABIsAreCollectedOnRequestOnly(t *testing.T) {
	target := t.TempDir()
	old, now := open(t, target, abi311, tag311), open(t, target, abi312, tag312)
	one := publish(t, old, "a.one")
	publish(t, now, "a.one")
	if done := collect(t, now, Collect{}); len(done.Removed)+len(done.Stayed) > 0 || !there(one) {
		t.Errorf("unasked: %+v", done)
	}
	held, err := one.Hold()
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, one.Dir)
	if done := collect(t, now, Collect{OtherABIs: true}); len(done.Removed) > 0 || len(done.Stayed) != 1 {
		t.Errorf("while it is used: %+v", done)
	}
	if !maps.Equal(before, tree(t, one.Dir)) {
		t.Error("what stayed is not whole")
	}
	// The other one is the active one, whoever asks.
	if done := collect(t, old, Collect{OtherABIs: true}); len(done.Removed) > 0 || len(done.Stayed) != 1 || !strings.Contains(done.Stayed[0].Why, "active") {
		t.Errorf("%+v", done)
	}
	held.Close()
	if done := collect(t, now, Collect{OtherABIs: true}); !slices.Equal(done.Removed, []string{tag311}) || there(one) {
		t.Errorf("%+v", done)
	}
	if err := errors.Join(whole(now, "a.one"), nothingLeft(now)); err != nil {
		t.Error(err)
	}
}

// TestD34WhatCannotBeRemovedStaysWhole mounts something on a generation, which then cannot be moved, and in one, which
// then can be moved and not removed. Neither is ever there in part.
func TestD34WhatCannotBeRemovedStaysWhole(t *testing.T) {
	machine.OnSmallDisk(t, "4m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		warned := 0
		s, err := Open(dir, abi311, tag311, Options{Warn: func(error) { warned++ }})
		if err != nil {
			t.Fatal(err)
		}
		on, in := publish(t, s, "a.one"), publish(t, s, "b.two")
		publish(t, s, "c.three")
		before := tree(t, on.Dir)
		for _, place := range []string{on.Dir, in.SitePackages() + "/b_two/bin"} {
			if err := syscall.Mount("none", place, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
		}
		done := collect(t, s, Collect{})
		if err := syscall.Unmount(on.Dir, 0); err != nil {
			t.Fatal(err)
		}
		if len(done.Stayed) != 1 || done.Stayed[0].Name != on.Digest || !maps.Equal(before, tree(t, on.Dir)) {
			t.Errorf("what could not be moved: %+v", done)
		}
		if !slices.Equal(done.Removed, []string{in.Digest}) || there(in) || warned == 0 {
			t.Errorf("what could not be removed: %+v, with %d warnings", done, warned)
		}
		left, err := filepath.Glob(s.staging() + "/*/*/site-packages/b_two/bin")
		if err != nil || len(left) != 1 {
			t.Fatalf("%v %v", left, err)
		}
		if err := syscall.Unmount(left[0], 0); err != nil {
			t.Fatal(err)
		}
		warned = 0
		if done := collect(t, s, Collect{}); !slices.Equal(done.Removed, []string{on.Digest}) || warned > 0 {
			t.Errorf("when it can: %+v, with %d warnings", done, warned)
		}
		if err := errors.Join(whole(s, "c.three"), nothingLeft(s)); err != nil {
			t.Error(err)
		}
	})
}
