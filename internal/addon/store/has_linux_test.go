package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hermes.example/hermes/internal/addon/manifest"
)

func TestHasAsksForExactlyThatFeature(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	for _, c := range []struct {
		feature string
		specs   []string
		want    bool
	}{
		{"a.one", []string{"a_one==1.0"}, true},
		{"a.one", []string{"a_one==1.1"}, false}, // its pin was raised
		{"a.one", nil, false},
		{"a.one", []string{"a_one==1.0", "more"}, false},
		{"b.two", []string{"a_one==1.0"}, false},
		{"", nil, false},
		{"../features/a.one", []string{"a_one==1.0"}, false},
	} {
		if s.Has(c.feature, c.specs) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// TestHasNoticesWhatIsTakenAway: an answer is not kept longer than it is true.
func TestHasNoticesWhatIsTakenAway(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	g := publish(t, s, "a.one")
	for range 2 {
		if !s.Has("a.one", []string{"a_one==1.0"}) {
			t.Fatal("it is not there")
		}
	}
	names, err := os.ReadDir(g.SitePackages())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(g.SitePackages(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(g.SitePackages(), name.Name())
		if err := os.Rename(path, g.Dir+".away"); err != nil {
			t.Fatal(err)
		}
		if s.Has("a.one", []string{"a_one==1.0"}) {
			t.Errorf("without %s it is there", name.Name())
		}
		if err := os.Rename(g.Dir+".away", path); err != nil {
			t.Fatal(err)
		}
		if !s.Has("a.one", []string{"a_one==1.0"}) {
			t.Errorf("with %s again it is not there", name.Name())
		}
	}
}

// TestAFeatureWithoutFilesIsThere: the core has all that it needs.
func TestAFeatureWithoutFilesIsThere(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	w := writer(t, s)
	defer w.Close()
	for _, features := range [][]manifest.Feature{{{Name: "a.one", Specs: []string{"x==1"}, Core: map[string]string{"x": "1.0"}}}, nil} {
		staged, err := w.Stage()
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Publish(t.Context(), staged, manifest.Manifest{Version: manifest.Version, ABI: abi311, Features: features}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Has("a.one", []string{"x==1"}) != (features != nil) {
			t.Errorf("of %v", features)
		}
		if problems, err := s.Verify(t.Context(), g); err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
	}
}

// TestEveryWayToSpellAnEntryIsFound: modules are packages, files or libraries, and names of metadata differ from those
// of their distributions.
func TestEveryWayToSpellAnEntryIsFound(t *testing.T) {
	var m manifest.Manifest
	for _, path := range []string{"Foo.Bar_baz-1.0.dist-info/METADATA", "_c.cpython-311-x86_64-linux-gnu.so", "other/__init__.py", "package/__init__.py", "package/sub/x.py", "single.py"} {
		m.Files = append(m.Files, manifest.File{Path: path})
	}
	for module, entry := range map[string]string{"_c": "_c.cpython-311-x86_64-linux-gnu.so", "package": "package", "single": "single.py"} {
		m.Distributions = []manifest.Distribution{{Name: "foo-bar-baz", Modules: []string{module, "other"}}}
		m.Features = []manifest.Feature{{Name: "f", Specs: []string{"foo-bar-baz"}, Distributions: []string{"foo-bar-baz"}}}
		if got := string(proofs(m)["f"]); got != "foo-bar-baz\n\nFoo.Bar_baz-1.0.dist-info\n"+entry+"\n" {
			t.Error(got)
		}
	}
}

// BenchmarkHas asks a store with sixty features for one that brought thirty distributions.
func BenchmarkHas(b *testing.B) {
	s := open(b, b.TempDir(), abi311, tag311)
	w := writer(b, s)
	defer w.Close()
	staged, err := w.Stage()
	if err != nil {
		b.Fatal(err)
	}
	var features []string
	for i := range 60 {
		features = append(features, fmt.Sprintf("b.n%02d", i))
	}
	if err := fill(staged, features...); err != nil {
		b.Fatal(err)
	}
	m, err := describeStaged(staged, abi311, features...)
	if err != nil {
		b.Fatal(err)
	}
	m.Features[0].Distributions = nil
	for _, d := range m.Distributions[:30] {
		m.Features[0].Distributions = append(m.Features[0].Distributions, d.Name)
	}
	if _, err := w.Publish(b.Context(), staged, m, nil); err != nil {
		b.Fatal(err)
	}
	for _, i := range []int{0, 59} {
		f := m.Features[i]
		b.Run(fmt.Sprint(len(f.Distributions)), func(b *testing.B) {
			for b.Loop() {
				if !s.Has(f.Name, f.Specs) {
					b.Fatal("it is not there")
				}
			}
		})
	}
}
