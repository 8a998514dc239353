package vet

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

// lockedTree is what npm was to install.
func lockedTree() lock.Tree {
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
	return lock.NewTree("mcp.demo", []string{"@m/server@1.0.0"}, []lock.Node{
		{Path: "@m/server", Version: "1.0.0", Integrity: integrity, Requires: []string{"dep"}},
		{Path: "dep", Version: "2.0.0", Integrity: integrity},
		{Path: "dep/node_modules/inner", Version: "3.0.0-rc.1", Integrity: integrity},
		{Path: "only-mac", Version: "1.0.0", Integrity: integrity, Optional: true, OS: []string{"darwin"}},
	})
}

// stagedTree is what an honest npm leaves.
func stagedTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node_modules")
	for name, content := range map[string]string{
		"@m/server/package.json":                   `{"name":"@m/server","version":"1.0.0","license":"MIT"}`,
		"@m/server/dist/index.js":                  "#!/usr/bin/env node\n",
		"dep/package.json":                         "\ufeff" + `{"name":"dep","version":"v2.0.0","licenses":[{"type":"BSD-3-Clause"}]}`,
		"dep/test/node_modules/fixture/x.js":       "",
		"dep/build/Release/fast.node":              "\x7fELF",
		"dep/node_modules/inner/package.json":      `{"name":"inner","version":"3.0.0-rc.1","license":{"type":"ISC"}}`,
		"dep/node_modules/inner/__pycache__/x.pyc": "",
	} {
		if err := put(name, content)(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAnHonestTreeIsDescribed(t *testing.T) {
	got, err := CheckTree(stagedTree(t), lockedTree())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != 7 || !slices.IsSortedFunc(got.Files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%+v", got.Files)
	}
	owners := make(map[string]string)
	for _, f := range got.Files {
		owners[f.Path] = f.Of
	}
	for file, owner := range map[string]string{
		"@m/server/dist/index.js": "@m/server", "dep/test/node_modules/fixture/x.js": "dep", "dep/node_modules/inner/package.json": "dep/node_modules/inner",
	} {
		if owners[file] != owner {
			t.Errorf("%s is of %q", file, owners[file])
		}
	}
	if len(got.Packages) != 3 {
		t.Fatalf("%+v", got.Packages)
	}
	server, dep, inner := got.Packages[0], got.Packages[1], got.Packages[2]
	if server.License != "MIT" || dep.License != "BSD-3-Clause" || inner.License != "ISC" || !slices.Equal(server.Requires, []string{"dep"}) {
		t.Errorf("%+v", got.Packages)
	}
	if server.Native || !dep.Native || inner.Native {
		t.Errorf("native: %+v", got.Packages)
	}
}

// D40: what is beside the lock's packages, or is not what they are, is not published.
func TestD40ATreeHoldsTheLocksPackagesAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		rule   Rule
		change func(dir string) error
	}{
		"a package that no lock names":       {Unlocked, put("more/package.json", `{"name":"more","version":"1.0.0"}`)},
		"one in a scope of the lock's":       {Unlocked, put("@m/more/package.json", "{}")},
		"one that a package has brought":     {Unlocked, put("dep/node_modules/bundled/package.json", "{}")},
		"programs":                           {Unlocked, put(".bin/node", "")},
		"npm's own notes":                    {Unlocked, put(".package-lock.json", "{}")},
		"a file beside the packages":         {Unlocked, put("index.js", "")},
		"a file in the place of a package":   {Unlocked, put("only-mac", "")},
		"a file among packages of a package": {Unlocked, put("dep/node_modules/index.js", "")},
		"another name":                       {Metadata, put("dep/package.json", `{"name":"deps","version":"2.0.0"}`)},
		"another version":                    {Metadata, put("dep/package.json", `{"name":"dep","version":"2.0.1"}`)},
		"no JSON":                            {Metadata, put("dep/package.json", "name: dep")},
		"no metadata":                        {Metadata, remove("dep/package.json")},
		"a package less":                     {Missing, func(dir string) error { return os.RemoveAll(filepath.Join(dir, "dep/node_modules/inner")) }},
		"a link":                             {Link, linked("/etc/passwd", "dep/passwd")},
		"a link within":                      {Link, linked("../dep", "@m/dep")},
		"a link for a package":               {Link, linked("dep", "only-mac")},
		"a pipe":                             {Special, pipe("dep/pipe")},
		"another's rights":                   {Special, mode("dep/build/Release/fast.node", 0o755|os.ModeSetuid)},
		"a name with a line break":           {Name, put("dep/a\nb", "")},
		"a name with a backslash":            {Name, put(`dep/a\b`, "")},
		"a name in two cases":                {Name, put("dep/Package.json", "{}")},
		"a name that is no text":             {Name, put("dep/\xff", "")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stagedTree(t)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			_, err := CheckTree(dir, lockedTree())
			var refused *Refused
			if !errors.As(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Rule != c.rule {
				t.Errorf("%v, want %s", err, c.rule)
			}
		})
	}
}

func linked(to, name string) func(string) error {
	return func(tree string) error { return os.Symlink(to, filepath.Join(tree, name)) }
}
