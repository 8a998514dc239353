package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/test/machine"
)

// build stages a feature that is new and takes over all of a generation.
func build(t *testing.T, w *Writer, from Generation, feature string) (Staged, manifest.Manifest, error) {
	t.Helper()
	old, err := from.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	staged, err := w.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(staged, feature); err != nil {
		t.Fatal(err)
	}
	if err := w.Adopt(staged, from, old.Placed()); err != nil {
		return staged, old, err
	}
	m, err := describeStaged(staged, abi311, append(old.Names(), feature)...)
	if err != nil {
		t.Fatal(err)
	}
	return staged, m, nil
}

// publishUpon publishes a feature that is new beside all of a generation, and looks whether both are there.
func publishUpon(t *testing.T, s *Store, from Generation, feature string) Generation {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	staged, m, err := build(t, w, from, feature)
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Publish(t.Context(), staged, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole(s, m.Names()...); err != nil {
		t.Error(err)
	}
	return g
}

func TestFilesThatDidNotChangeAreShared(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	before := tree(t, one.Dir)
	two := publishUpon(t, s, one, "b.two")
	a, err := os.Stat(filepath.Join(one.SitePackages(), "a_one/m1.py"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.Stat(filepath.Join(two.SitePackages(), "a_one/m1.py")); err != nil || !os.SameFile(a, b) {
		t.Errorf("they are two files: %v", err)
	}
	for name, entry := range tree(t, one.Dir) {
		if before[name] != entry {
			t.Errorf("%s of the older generation was changed", name)
		}
	}
	w := writer(t, s)
	defer w.Close()
	if done, err := w.GC(t.Context(), Collect{}); err != nil || len(done.Removed) != 1 {
		t.Errorf("%v %v", done, err)
	}
	if err := whole(s, "a.one", "b.two"); err != nil {
		t.Errorf("without the older generation: %v", err)
	}
}

func TestAChangedFileIsNotTakenOver(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	if err := damages["changed"].do(one.Dir); err != nil {
		t.Fatal(err)
	}
	w := writer(t, s)
	defer w.Close()
	staged, m, err := build(t, w, one, "b.two")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), staged, m, nil); err == nil || !strings.Contains(err.Error(), "a_one/m1.py was changed") {
		t.Errorf("it was blessed: %v", err)
	}
}

func TestAGenerationThatLostAFileIsNotBuiltUpon(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	if err := damages["missing"].do(one.Dir); err != nil {
		t.Fatal(err)
	}
	w := writer(t, s)
	defer w.Close()
	if _, _, err := build(t, w, one, "b.two"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOneFileOfTwoDistributions(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	w := writer(t, s)
	defer w.Close()
	for content, fits := range map[string]bool{"# a.one 1\n": true, "# another\n": false} {
		staged, err := w.Stage()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(staged.SitePackages(), "a_one/m1.py")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
		m, err := one.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Adopt(staged, one, m.Placed()); (err == nil) != fits {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestWhereNoLinkCanBeMadeFilesAreCopied takes over from another file system.
func TestWhereNoLinkCanBeMadeFilesAreCopied(t *testing.T) {
	machine.OnSmallDisk(t, "4m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		one := publish(t, open(t, dir, abi311, tag311), "a.one")
		s := open(t, t.TempDir(), abi311, tag311)
		two := publishUpon(t, s, one, "b.two")
		from, err := os.Stat(filepath.Join(one.SitePackages(), "a_one/m1.py"))
		if err != nil {
			t.Fatal(err)
		}
		// Python compares it with what it noted when it compiled the file.
		if to, err := os.Stat(filepath.Join(two.SitePackages(), "a_one/m1.py")); err != nil || !to.ModTime().Equal(from.ModTime()) {
			t.Errorf("the time of a copy is another: %v", err)
		}
	})
}
