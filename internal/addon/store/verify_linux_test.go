package store

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// damages are what may happen to a generation, with the path that Verify has to name.
var damages = map[string]struct {
	do   func(dir string) error
	path string
}{
	"changed": {func(dir string) error {
		path := dir + "/site-packages/a_one/m1.py"
		return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte("# b.one 1\n"), 0), os.Chmod(path, 0o444))
	}, "site-packages/a_one/m1.py"},
	"cut short": {func(dir string) error {
		path := dir + "/site-packages/a_one/m1.py"
		return errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 3), os.Chmod(path, 0o444))
	}, "site-packages/a_one/m1.py"},
	"missing":      {func(dir string) error { return opened(dir+"/site-packages/a_one", "m1.py", os.Remove) }, "site-packages/a_one/m1.py"},
	"package gone": {func(dir string) error { return opened(dir+"/site-packages", "a_one", removeTree) }, "site-packages/a_one"},
	"extra": {func(dir string) error {
		return opened(dir+"/site-packages", "sitecustomize.py", func(path string) error { return os.WriteFile(path, nil, 0o444) })
	}, "site-packages/sitecustomize.py"},
	"an extra directory": {func(dir string) error {
		return opened(dir+"/site-packages", "json", func(path string) error { return os.Mkdir(path, 0o555) })
	}, "site-packages/json"},
	"a link": {func(dir string) error {
		return opened(dir+"/site-packages/a_one", "m1.py", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("m2.py", path)) })
	}, "site-packages/a_one/m1.py"},
	"a pipe": {func(dir string) error {
		return opened(dir+"/site-packages/a_one", "m1.py", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o444)) })
	}, "site-packages/a_one/m1.py"},
	"a mode":           {func(dir string) error { return os.Chmod(dir+"/site-packages/a_one/m1.py", 0o644) }, "site-packages/a_one/m1.py"},
	"an executable":    {func(dir string) error { return os.Chmod(dir+"/site-packages/a_one/m1.py", 0o555) }, "site-packages/a_one/m1.py"},
	"setuid":           {func(dir string) error { return os.Chmod(dir+"/site-packages/a_one/m1.py", 0o444|os.ModeSetuid) }, "site-packages/a_one/m1.py"},
	"a directory mode": {func(dir string) error { return os.Chmod(dir+"/site-packages/a_one", 0o755) }, "site-packages/a_one"},
	"its own mode":     {func(dir string) error { return os.Chmod(dir, 0o755) }, "."},
	"the manifest":     {func(dir string) error { return appendTo(dir + "/manifest.json") }, "manifest.json"},
	"no manifest":      {func(dir string) error { return opened(dir, "manifest.json", os.Remove) }, "manifest.json"},
	"no bill":          {func(dir string) error { return opened(dir, "sbom.json", os.Remove) }, "sbom.json"},
	"a proof":          {func(dir string) error { return appendTo(dir + "/features/a.one") }, "features/a.one"},
	"a feature more": {func(dir string) error {
		return opened(dir+"/features", "b.two", func(path string) error { return os.WriteFile(path, []byte("b_two==1.0\n\n"), 0o444) })
	}, "features/b.two"},
	"an owner": {func(dir string) error { return os.Lchown(dir+"/site-packages/a_one/m1.py", stranger, -1) }, "site-packages/a_one/m1.py"},
}

// opened does something in a directory that is closed.
func opened(dir, name string, do func(path string) error) error {
	return errors.Join(os.Chmod(dir, 0o755), do(filepath.Join(dir, name)), os.Chmod(dir, 0o555))
}

func appendTo(path string) error {
	if err := os.Chmod(path, 0o644); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return errors.Join(err, f.Close(), os.Chmod(path, 0o444))
}

func TestVerifyFindsEveryDamage(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			if name == "an owner" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			s := open(t, t.TempDir(), abi311, tag311)
			g := publish(t, s, "a.one")
			if problems, err := s.Verify(t.Context(), g); err != nil || len(problems) > 0 {
				t.Fatalf("before: %v %v", problems, err)
			}
			if err := damage.do(g.Dir); err != nil {
				t.Fatal(err)
			}
			problems, err := s.Verify(t.Context(), g)
			if err != nil || len(problems) == 0 || problems[0].Path != damage.path {
				t.Errorf("%v %v", problems, err)
			}
		})
	}
}

// patience is a context that is over after it was asked so often.
type patience struct {
	context.Context
	asked *atomic.Int64
	over  int64
}

func (p patience) Err() error {
	if p.asked.Add(1) > p.over {
		return context.Canceled
	}
	return nil
}

// TestAVerificationThatIsGivenUpFindsNothing gives up at every moment.
func TestAVerificationThatIsGivenUpFindsNothing(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	g := publish(t, s, "a.one")
	var asked atomic.Int64
	if _, err := s.Verify(patience{t.Context(), &asked, math.MaxInt64}, g); err != nil {
		t.Fatal(err)
	}
	for over := range asked.Load() {
		if problems, err := s.Verify(patience{t.Context(), new(atomic.Int64), over}, g); !errors.Is(err, context.Canceled) || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
	}
}

// TestAGenerationThatIsNotWholeIsReplaced publishes what was damaged once more.
func TestAGenerationThatIsNotWholeIsReplaced(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			if name == "an owner" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			s := open(t, t.TempDir(), abi311, tag311)
			g := publish(t, s, "a.one")
			if err := damage.do(g.Dir); err != nil {
				t.Fatal(err)
			}
			if again := publish(t, s, "a.one"); again != g {
				t.Errorf("%v is now %v", g, again)
			}
			if err := errors.Join(whole(s, "a.one"), nothingLeft(s)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestD34HalfAGenerationCountsForNothing removes a part, as an interrupted removal does. There is no mark that would
// say that all is well: the mark of the ABI says nothing of what is there.
func TestD34HalfAGenerationCountsForNothing(t *testing.T) {
	for _, part := range []string{"site-packages/a_one", "site-packages/a_one-1.0.dist-info", "site-packages", "features/a.one"} {
		s := open(t, t.TempDir(), abi311, tag311)
		g := publish(t, s, "a.one")
		publish(t, s, "b.two")
		publish(t, s, "a.one")
		path := filepath.Join(g.Dir, part)
		if err := opened(filepath.Dir(path), filepath.Base(path), removeTree); err != nil {
			t.Fatal(err)
		}
		if s.Has("a.one", specs("a.one")) {
			t.Errorf("without %s it counts as installed", part)
		}
		publish(t, s, "b.two")
		w := writer(t, s)
		if back, err := w.Rollback(t.Context()); err == nil {
			t.Errorf("without %s it was rolled back to: %v", part, back)
		}
		w.Close()
		if err := whole(s, "b.two"); err != nil {
			t.Error(err)
		}
	}
}
