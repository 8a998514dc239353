package store

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/manifest"
)

func TestANewStoreHasItsDirectoriesAndItsMark(t *testing.T) {
	target := filepath.Join(t.TempDir(), "home", "lazy-packages")
	s := open(t, target, abi311, tag311)
	if _, err := os.Lstat(filepath.Dir(target)); !os.IsNotExist(err) {
		t.Errorf("Open made something: %v", err)
	}
	if _, err := s.Current(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if s.Has("a.one", specs("a.one")) {
		t.Error("an empty store has a feature")
	}
	g := publish(t, s, "a.one", "b.two")
	if err := whole(s, "a.one", "b.two"); err != nil {
		t.Error(err)
	}
	stamp, err := os.ReadFile(filepath.Join(target, ".python-abi"))
	if err != nil || string(stamp) != abi311+"\n" {
		t.Errorf("%q %v", stamp, err)
	}
	to, err := os.Readlink(filepath.Join(target, ".hermes", tag311, "current"))
	if err != nil || to != "generations/"+g.Digest {
		t.Errorf("%q %v", to, err)
	}
	text, err := os.ReadFile(filepath.Join(g.Dir, "manifest.json"))
	if err != nil || manifest.Digest(text) != g.Digest {
		t.Errorf("it is not named after its manifest: %v", err)
	}
	for name, want := range map[string]fs.FileMode{
		"": 0o555 | fs.ModeDir, "site-packages": 0o555 | fs.ModeDir, "site-packages/a_one": 0o555 | fs.ModeDir, "manifest.json": 0o444, "sbom.json": 0o444,
		"site-packages/a_one/m1.py": 0o444, "site-packages/a_one/bin/tool": 0o555,
	} {
		if info, err := os.Lstat(filepath.Join(g.Dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%q: %v %v", name, info.Mode(), err)
		}
	}
	if err := nothingLeft(s); err != nil {
		t.Error(err)
	}
}

func TestTheSameABIKeepsWhatIsThere(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publish(t, s, "a.one")
	before := tree(t, one.Dir)
	two := publish(t, s, "a.one", "b.two")
	if one == two {
		t.Error("two states have one name")
	}
	if !maps.Equal(before, tree(t, one.Dir)) {
		t.Error("the generation before was changed")
	}
	there, err := os.Stat(two.Dir)
	if err != nil {
		t.Fatal(err)
	}
	again := publish(t, s, "a.one", "b.two")
	if now, err := os.Stat(again.Dir); err != nil || again != two || !os.SameFile(there, now) {
		t.Errorf("the same files are %v and %v: %v", two, again, err)
	}
	if err := whole(s, "a.one", "b.two"); err != nil {
		t.Error(err)
	}
	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
}

func TestD33EveryABIHasItsOwnDirectory(t *testing.T) {
	target := t.TempDir()
	old, now := open(t, target, abi311, tag311), open(t, target, abi312, tag312)
	publish(t, old, "a.one", "b.two")
	before := tree(t, old.own())
	if now.Has("a.one", specs("a.one")) {
		t.Error("another interpreter uses these files")
	}
	if _, err := now.Current(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if abi, err := now.ActiveABI(); err != nil || abi != abi311 {
		t.Errorf("%q %v", abi, err)
	}
	wanted, err := now.Desired()
	if err != nil || !slices.Equal(wanted, []string{"a.one", "b.two"}) {
		t.Fatalf("%v %v", wanted, err)
	}
	publish(t, now, wanted...)
	if err := whole(now, "a.one", "b.two"); err != nil {
		t.Error(err)
	}
	if abi, err := old.ActiveABI(); err != nil || abi != abi312 {
		t.Errorf("%q %v", abi, err)
	}
	if !maps.Equal(before, tree(t, old.own())) {
		t.Error("the other ABI's files were changed")
	}
}

// TestAFlatStoreOfTheReferenceIsLeftAlone keeps its packages and, until something is published, its mark.
func TestAFlatStoreOfTheReferenceIsLeftAlone(t *testing.T) {
	target := t.TempDir()
	for name, content := range map[string]string{
		".python-abi": "3.10:.cpython-310-x86_64-linux-gnu.so", "requests/__init__.py": "x = 1\n", "requests-2.0.dist-info/METADATA": "Name: requests\n", "bin/tool": "#!\n",
	} {
		path := filepath.Join(target, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	flat := func() map[string]string {
		all := tree(t, target)
		maps.DeleteFunc(all, func(name, _ string) bool { return name == "." || strings.HasPrefix(name, ".hermes") })
		return all
	}
	before := flat()
	s := open(t, target, abi311, tag311)
	if _, err := s.Current(); !errors.Is(err, fs.ErrNotExist) || s.Has("requests", nil) {
		t.Errorf("the flat store is used: %v", err)
	}
	writer(t, s).Close()
	if !maps.Equal(before, flat()) {
		t.Error("it was changed before anything was published")
	}
	publish(t, s, "a.one")
	w := writer(t, s)
	if _, err := w.GC(t.Context(), Collect{OtherABIs: true}); err != nil {
		t.Error(err)
	}
	w.Close()
	after := flat()
	if after[".python-abi"] == before[".python-abi"] {
		t.Error("the mark is still the reference's")
	}
	delete(before, ".python-abi")
	delete(after, ".python-abi")
	if !maps.Equal(before, after) {
		t.Errorf("it was changed: %v, now %v", before, after)
	}
}

func TestD35NothingIsSeenBeforeItIsPublished(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	w := writer(t, s)
	staged, err := w.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(staged, "a.one", "b.two"); err != nil {
		t.Fatal(err)
	}
	if err := whole(s, "a.one"); err != nil {
		t.Errorf("while it is staged: %v", err)
	}
	w.Close()
	if err := errors.Join(whole(s, "a.one"), nothingLeft(s)); err != nil {
		t.Errorf("after it was given up: %v", err)
	}
}

func TestDirectoriesWithoutFilesAreNotPublished(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	w := writer(t, s)
	defer w.Close()
	staged, err := w.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fill(staged, "a.one"), os.MkdirAll(filepath.Join(staged.SitePackages(), "a_one/empty/more"), 0o755), os.Mkdir(filepath.Join(staged.SitePackages(), "top"), 0o755)); err != nil {
		t.Fatal(err)
	}
	m, err := describeStaged(staged, abi311, "a.one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), staged, m, nil); err != nil {
		t.Fatal(err)
	}
	if err := whole(s, "a.one"); err != nil {
		t.Error(err)
	}
}

// TestNothingTemporaryStays fails in every way that a publication can fail.
func TestNothingTemporaryStays(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	before := tree(t, s.generations())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, try := range map[string]func(w *Writer, staged Staged, m manifest.Manifest) error{
		"another ABI": func(w *Writer, staged Staged, m manifest.Manifest) error {
			m.ABI = abi312
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"a file too many": func(w *Writer, staged Staged, m manifest.Manifest) error {
			os.WriteFile(filepath.Join(staged.SitePackages(), "more.py"), nil, 0o644)
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"a file too few": func(w *Writer, staged Staged, m manifest.Manifest) error {
			os.Remove(filepath.Join(staged.SitePackages(), "b_two", "m1.py"))
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"another size": func(w *Writer, staged Staged, m manifest.Manifest) error {
			os.WriteFile(filepath.Join(staged.SitePackages(), "b_two", "m1.py"), []byte("longer than it was\n"), 0o644)
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"a link": func(w *Writer, staged Staged, m manifest.Manifest) error {
			path := filepath.Join(staged.SitePackages(), "b_two", "m1.py")
			os.Remove(path)
			os.Symlink(".//./m2.py", path) // as long as the file was
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"something beside": func(w *Writer, staged Staged, m manifest.Manifest) error {
			os.Mkdir(filepath.Join(staged.Dir, "tmp"), 0o755)
			_, err := w.Publish(t.Context(), staged, m, nil)
			return err
		},
		"a place of somebody else's": func(w *Writer, _ Staged, m manifest.Manifest) error {
			_, err := w.Publish(t.Context(), Staged{t.TempDir()}, m, nil)
			return err
		},
		"out of time": func(w *Writer, staged Staged, m manifest.Manifest) error {
			_, err := w.Publish(over, staged, m, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := writer(t, s)
			staged, m := stage(t, w, "a.one", "b.two")
			if err := try(w, staged, m); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("it was published, or not in one line: %v", err)
			}
			w.Close()
			if err := errors.Join(whole(s, "a.one"), nothingLeft(s)); err != nil {
				t.Error(err)
			}
			if !maps.Equal(before, tree(t, s.generations())) {
				t.Error("the generations were changed")
			}
		})
	}
}
