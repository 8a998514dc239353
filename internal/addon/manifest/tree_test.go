package manifest

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
)

func withTree() Manifest {
	m := good()
	m.Features = append([]Feature{{Name: "mcp.memory", Specs: []string{"@m/server@1.0.0"}, Kind: "shipped"}}, m.Features...)
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
	m.Trees = []Tree{{
		Feature: "mcp.memory",
		Packages: []NodePackage{
			{Path: "@m/server", Version: "1.0.0", Integrity: integrity, License: "MIT", Requires: []string{"dep"}},
			{Path: "@m/server/node_modules/dep", Version: "2.0.0", Integrity: integrity, Native: true},
		},
		Files: []File{
			{Path: "@m/server/index.js", Of: "@m/server", SHA256: zeros},
			{Path: "@m/server/node_modules/dep/x.node", Of: "@m/server/node_modules/dep", SHA256: zeros},
		},
	}}
	return m
}

func TestTreesAreWrittenAndRead(t *testing.T) {
	text, err := Encode(withTree())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := Decode(text); err != nil || !reflect.DeepEqual(m.Trees, withTree().Trees) {
		t.Errorf("%+v, %v", m.Trees, err)
	}
	// A generation without any is named as it always was.
	if text, err := Encode(good()); err != nil || strings.Contains(string(text), "trees") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestFilesHaveTheirPlacesInTheGeneration(t *testing.T) {
	var got []string
	for _, f := range withTree().Placed() {
		got = append(got, f.Path)
	}
	want := []string{"site-packages/exa_py/__init__.py", "site-packages/exa_py/bin/tool", "node/mcp.memory/node_modules/@m/server/index.js", "node/mcp.memory/node_modules/@m/server/node_modules/dep/x.node"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	dirs := withTree().Dirs()
	for _, dir := range []string{"site-packages", "site-packages/exa_py", "node", "node/mcp.memory", "node/mcp.memory/node_modules/@m/server/node_modules/dep"} {
		if !dirs[dir] {
			t.Errorf("no %s in %v", dir, dirs)
		}
	}
	if dirs := (Manifest{}).Dirs(); !dirs[SitePackages] || len(dirs) != 1 {
		t.Errorf("of nothing: %v", dirs)
	}
}

func TestWhatNoHonestTreeHas(t *testing.T) {
	for name, change := range map[string]func(*Tree){
		"of no feature":              func(t *Tree) { t.Feature = "mcp.other" },
		"no files":                   func(t *Tree) { t.Files = nil },
		"a place outside":            func(t *Tree) { t.Packages[0].Path = "../server" },
		"a version of any kind":      func(t *Tree) { t.Packages[0].Version = "latest" },
		"no integrity":               func(t *Tree) { t.Packages[0].Integrity = "" },
		"packages without order":     func(t *Tree) { t.Packages[0], t.Packages[1] = t.Packages[1], t.Packages[0] },
		"a file outside":             func(t *Tree) { t.Files[0].Path = "../index.js" },
		"a file of nobody":           func(t *Tree) { t.Files[0].Of = "none" },
		"a file of another's":        func(t *Tree) { t.Files[0].Of = "@m/server/node_modules/dep" },
		"a file without its hash":    func(t *Tree) { t.Files[0].SHA256 = "" },
		"a file that is a directory": func(t *Tree) { t.Files[1].Path = t.Files[0].Path + "/x"; t.Files[1].Of = "@m/server" },
	} {
		m := withTree()
		change(&m.Trees[0])
		if _, err := Encode(m); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	m := withTree()
	m.Trees = append(m.Trees, m.Trees[0])
	if _, err := Encode(m); err == nil {
		t.Error("a tree was taken twice")
	}
}
