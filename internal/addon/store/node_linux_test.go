package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/manifest"
)

// stageTree adds a feature of npm to what is staged, and to its manifest.
func stageTree(t testing.TB, staged Staged, m *manifest.Manifest, feature string, packages ...string) {
	t.Helper()
	tree := manifest.Tree{Feature: feature}
	for _, p := range packages {
		tree.Packages = append(tree.Packages, manifest.NodePackage{Path: p, Version: "1.0.0", Integrity: "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))})
		content := []byte(`{"name":"` + p + `"}`)
		path := filepath.Join(staged.Node(feature), p, "package.json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		tree.Files = append(tree.Files, manifest.File{Path: p + "/package.json", Of: p, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	}
	slices.SortFunc(tree.Files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) })
	m.Trees = append(m.Trees, tree)
	m.Features = append(m.Features, manifest.Feature{Name: feature, Specs: []string{packages[0] + "@1.0.0"}, Distributions: []string{}})
	slices.SortFunc(m.Features, func(a, b manifest.Feature) int { return strings.Compare(a.Name, b.Name) })
}

// publishTree publishes a feature of Python and one of npm.
func publishTree(t testing.TB, s *Store) Generation {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	staged, m := stage(t, w, "a.one")
	stageTree(t, staged, &m, "mcp.demo", "@m/server", "@m/server/node_modules/inner", "dep")
	g, err := w.Publish(t.Context(), staged, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestATreeOfNPMIsPartOfItsGeneration(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	g := publishTree(t, s)
	if problems, err := s.Verify(t.Context(), g); err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	specs := []string{"@m/server@1.0.0"}
	if !s.Has("mcp.demo", specs) || !s.Has("a.one", []string{"a_one==1.0"}) || s.Has("mcp.demo", []string{"@m/server@1.0.1"}) {
		t.Error("it does not have what it has")
	}
	file := filepath.Join(g.Node("mcp.demo"), "dep/package.json")
	if info, err := os.Stat(file); err != nil || info.Mode() != fileMode {
		t.Errorf("%v, %v", info, err)
	}
	// What somebody changes, adds or takes away is found.
	for name, spoil := range map[string]func() error{
		"node/mcp.demo/node_modules/dep/package.json": func() error {
			return errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte(`{"name":"bad"}`), 0o644), os.Chmod(file, fileMode))
		},
		"node/mcp.demo/node_modules/more": func() error {
			return errors.Join(os.Chmod(g.Node("mcp.demo"), 0o755), os.WriteFile(filepath.Join(g.Node("mcp.demo"), "more"), nil, 0o444), os.Chmod(g.Node("mcp.demo"), dirMode))
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		problems, err := s.Verify(t.Context(), g)
		if err != nil || !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == name }) {
			t.Errorf("%s: %v %v", name, problems, err)
		}
	}
}

func TestHasNoticesAPackageOfNPMThatIsTakenAway(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	g := publishTree(t, s)
	specs := []string{"@m/server@1.0.0"}
	for range 2 {
		if !s.Has("mcp.demo", specs) {
			t.Fatal("it is not there")
		}
	}
	if err := os.Chmod(g.Node("mcp.demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"@m", "dep"} {
		path := filepath.Join(g.Node("mcp.demo"), name)
		if err := os.Rename(path, g.Dir+".away"); err != nil {
			t.Fatal(err)
		}
		if s.Has("mcp.demo", specs) {
			t.Errorf("without %s it is there", name)
		}
		if err := os.Rename(g.Dir+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Has("mcp.demo", specs) {
		t.Error("with all of them again it is not there")
	}
}

// A tree is taken over as it is, and only if it is still what it was.
func TestATreeIsTakenOver(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	one := publishTree(t, s)
	old, err := one.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	again := func() (Generation, error) {
		w := writer(t, s)
		defer w.Close()
		staged, err := w.Stage()
		if err != nil {
			t.Fatal(err)
		}
		m := manifest.Manifest{Version: manifest.Version, ABI: abi311, Trees: old.Trees, Features: old.Features[1:]}
		if err := w.Adopt(staged, one, m.Placed()); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(staged.Node("mcp.demo"), "dep/package.json"))
		sum := sha256.Sum256(content)
		m.Trees[0].Files[2].SHA256 = hex.EncodeToString(sum[:]) // as who vets it finds it
		if err != nil {
			t.Fatal(err)
		}
		return w.Publish(t.Context(), staged, m, nil)
	}
	two, err := again()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(filepath.Join(one.Node("mcp.demo"), "dep/package.json"))
	if b, err := os.Stat(filepath.Join(two.Node("mcp.demo"), "dep/package.json")); err != nil || !os.SameFile(a, b) {
		t.Errorf("they are two files: %v", err)
	}
	file := filepath.Join(one.Node("mcp.demo"), "dep/package.json")
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte(`{"name":"bad"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := again(); err == nil || !strings.Contains(err.Error(), "was changed after it was installed") {
		t.Error(err)
	}
}

// Nothing is published beside what the manifest has, and nothing of it is missing.
func TestWhatIsStagedOfATreeIsWhatIsPublished(t *testing.T) {
	for name, spoil := range map[string]func(staged Staged, m *manifest.Manifest) error{
		"a tree that no manifest has": func(_ Staged, m *manifest.Manifest) error { m.Trees = nil; return nil },
		"a file more": func(s Staged, _ *manifest.Manifest) error {
			return os.WriteFile(filepath.Join(s.Node("mcp.demo"), "more"), nil, 0o644)
		},
		"a file beside node_modules": func(s Staged, _ *manifest.Manifest) error {
			return os.WriteFile(filepath.Join(s.Node("mcp.demo"), "../package.json"), nil, 0o644)
		},
		"a file less": func(s Staged, _ *manifest.Manifest) error {
			return os.Remove(filepath.Join(s.Node("mcp.demo"), "dep/package.json"))
		},
		"a link": func(s Staged, _ *manifest.Manifest) error {
			file := filepath.Join(s.Node("mcp.demo"), "dep/package.json")
			return errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file))
		},
	} {
		s := open(t, t.TempDir(), abi311, tag311)
		w := writer(t, s)
		staged, m := stage(t, w, "a.one")
		stageTree(t, staged, &m, "mcp.demo", "@m/server", "dep")
		if err := spoil(staged, &m); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Publish(t.Context(), staged, m, nil); err == nil {
			t.Errorf("%s was published", name)
		}
		w.Close()
	}
}

// BenchmarkHasOfNPM asks for a feature that brought a hundred packages.
func BenchmarkHasOfNPM(b *testing.B) {
	s := open(b, b.TempDir(), abi311, tag311)
	w := writer(b, s)
	defer w.Close()
	staged, m := stage(b, w, "a.one")
	var packages []string
	for i := range 100 {
		packages = append(packages, "p"+string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	stageTree(b, staged, &m, "mcp.demo", packages...)
	if _, err := w.Publish(b.Context(), staged, m, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !s.Has("mcp.demo", []string{"paa@1.0.0"}) {
			b.Fatal("it is not there")
		}
	}
}
