package vet

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/test/wheels"
)

var honest = []wheels.Wheel{
	{Name: "Demo.Pkg", Version: "1.0", License: "MIT", Requires: []string{"leaf>=1", "httpx"},
		Files:   map[string]string{"demo/__init__.py": "import leaf\n", "demo/data/large.bin": strings.Repeat("x", 300<<10), "_demo.abi3.so": "", "demo.libs/libx.so.1": ""},
		Scripts: map[string]string{"demo": "#!python\n"}, EntryPoints: map[string][]string{"console_scripts": {"demo-too = demo:main"}}},
	{Name: "leaf", Version: "2", Files: map[string]string{"leaf.py": "", "leaf-2.data/data/share/leaf/x": "x", "leaf_ns/sub/mod.py": ""}},
}

// The report says how the tree is after Tidy: file by file, whichever tool made it.
func TestInventoryIsTheTidyTree(t *testing.T) {
	reports := make(map[wheels.Tool]*Report)
	for _, tool := range tools {
		tree := t.TempDir()
		install(t, tool, tree, honest...)
		r := check(t, tree, honest...)
		if err := r.Tidy(); err != nil {
			t.Fatal(err)
		}
		if found := inventory(t, tree); !reflect.DeepEqual(found, nobodys(r.Files)) {
			t.Errorf("%s: there are\n%v\nand the report says\n%v", tool, found, r.Files)
		}
		for _, f := range r.Files {
			if base := filepath.Base(f.Path); f.Path == ".lock" || base == "INSTALLER" || base == "REQUESTED" || base == "direct_url.json" || base == "uv_cache.json" {
				t.Errorf("%s: %s is the installer's", tool, f.Path)
			}
		}
		again := check(t, tree, honest...)
		if err := again.Err(); err != nil {
			t.Errorf("%s: the tidy tree: %v", tool, err)
		}
		if !reflect.DeepEqual(again.Files, r.Files) || !reflect.DeepEqual(again.Distributions, r.Distributions) {
			t.Errorf("%s: a second look finds something else", tool)
		}
		if len(again.records)+len(again.dropped) > 0 {
			t.Errorf("%s: a tidy tree would be tidied again: %v, %d RECORDs", tool, again.dropped, len(again.records))
		}
		reports[tool] = r
	}
	if uv, pip := reports[wheels.WithUV].Files, reports[wheels.WithPip].Files; !reflect.DeepEqual(uv, pip) {
		t.Errorf("uv's tree is\n%v\nand pip's is\n%v", uv, pip)
	}
}

func TestDistributionsForTheManifest(t *testing.T) {
	got := check(t, staged(t, honest...), honest...).Distributions
	want := []manifest.Distribution{
		{Name: "demo-pkg", Version: "1.0", License: "MIT", Requires: []string{"leaf>=1", "httpx"}, Hashes: []string{honest[0].Hash()}, Modules: []string{"_demo", "demo"}},
		{Name: "leaf", Version: "2", Hashes: []string{honest[1].Hash()}, Modules: []string{"leaf", "leaf_ns"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// RECORD is written anew as another file: uv links files to its cache, and that must stay as it is.
func TestTidyDoesNotWriteThroughLinks(t *testing.T) {
	tree, elsewhere := staged(t, honest...), filepath.Join(t.TempDir(), "cache")
	record := filepath.Join(tree, honest[1].DistInfo(), "RECORD")
	if err := os.Link(record, elsewhere); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t, tree, honest...).Tidy(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(elsewhere)
	if err != nil || string(after) != string(before) {
		t.Errorf("the other name of RECORD has changed: %v", err)
	}
	if tidied, err := os.ReadFile(record); err != nil || string(tidied) == string(before) {
		t.Errorf("RECORD was not written anew: %v", err)
	}
}

// Python finds the files of a distribution, and the hashes that it finds are right.
func TestRecordsArePythons(t *testing.T) {
	tree := staged(t, honest...)
	if err := check(t, tree, honest...).Tidy(); err != nil {
		t.Fatal(err)
	}
	program := `
import importlib.metadata as m, hashlib, base64
for f in sorted(m.files("demo-pkg")):
    data = f.locate().read_bytes()
    if f.hash: assert f.hash.value == base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), f
    if f.hash: assert f.size == len(data)
    print(f)`
	want := "_demo.abi3.so demo/__init__.py demo/data/large.bin demo.libs/libx.so.1 " +
		"demo_pkg-1.0.dist-info/METADATA demo_pkg-1.0.dist-info/RECORD demo_pkg-1.0.dist-info/WHEEL demo_pkg-1.0.dist-info/entry_points.txt"
	if got := strings.Fields(python(t, program, tree)); !sameSet(got, strings.Fields(want)) {
		t.Errorf("Python finds %v", got)
	}
}

// Every file is somebody's; bytecode is its source's.
func TestWhoseFilesTheyAre(t *testing.T) {
	tree := t.TempDir()
	install(t, wheels.WithPip, tree, honest...)
	for _, f := range check(t, tree, honest...).Files {
		want := "demo-pkg"
		if strings.Contains(f.Path, "leaf") {
			want = "leaf"
		}
		if f.Of != want {
			t.Errorf("%s is %q's", f.Path, f.Of)
		}
	}
}

// nobodys are the files without whose they are.
func nobodys(files []manifest.File) []manifest.File {
	files = slices.Clone(files)
	for i := range files {
		files[i].Of = ""
	}
	return files
}

func sameSet(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func inventory(t *testing.T, tree string) []manifest.File {
	t.Helper()
	var files []manifest.File
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(tree, path)
		sum := sha256.Sum256(data)
		files = append(files, manifest.File{Path: name, Size: info.Size(), SHA256: hex.EncodeToString(sum[:]), Exec: info.Mode()&0o111 != 0})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
