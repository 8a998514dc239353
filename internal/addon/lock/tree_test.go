package lock

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func integrity(digit byte) string {
	return "sha512-" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(digit), 64)))
}

func sampleTree() Tree {
	return NewTree("mcp.memory", []string{"@m/server@1.0.0"}, []Node{
		{Path: "@m/server", Version: "1.0.0", Integrity: integrity('a'), Requires: []string{"express", "fsevents"}},
		{Path: "debug", Version: "4.0.0", Integrity: integrity('b'), Size: 12, Engine: ">=18 || ^20.1"},
		{Path: "express", Version: "5.0.0", Integrity: integrity('c'), Requires: []string{"debug"}, Scripts: true},
		{Path: "express/node_modules/debug", Version: "2.6.9", Integrity: integrity('d')},
		{Path: "fsevents", Version: "2.0.0", Integrity: integrity('e'), Optional: true, OS: []string{"darwin"}, CPU: []string{"!ia32"}},
	})
}

func TestATreeReadsAsItWasWritten(t *testing.T) {
	got, err := ParseTree(sampleTree().Text())
	if err != nil || !reflect.DeepEqual(got, sampleTree()) {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Bytes() != 12 || got.Packages[3].String() != "debug@2.6.9" {
		t.Errorf("%d bytes, %s", got.Bytes(), got.Packages[3])
	}
}

func TestWhatIsNoTreeIsRefused(t *testing.T) {
	text := string(sampleTree().Text())
	refusesChanges(t, text, ParseTree, map[string][2]string{
		"another format":                  {`"hermes-lock": 1`, `"hermes-lock": 2`},
		"no feature":                      {`"feature": "mcp.memory"`, `"feature": ""`},
		"no digest":                       {`"specs": "sha256:`, `"specs": "`},
		"a range":                         {`"version": "4.0.0"`, `"version": "^4.0.0"`},
		"a tag":                           {`"version": "4.0.0"`, `"version": "latest"`},
		"an address":                      {`"version": "4.0.0"`, `"version": "https://host/debug.tgz"`},
		"no integrity":                    {integrity('b'), ""},
		"a weak integrity":                {"sha512-", "sha1-"},
		"another's field":                 {`"version": "4.0.0",`, `"version": "4.0.0",` + "\n" + `   "resolved": "https://host/",`},
		"a link":                          {`"version": "4.0.0",`, `"version": "4.0.0",` + "\n" + `   "link": true,`},
		"a place outside":                 {`"path": "debug"`, `"path": "../debug"`},
		"a place among programs":          {`"path": "debug"`, `"path": ".bin/debug"`},
		"no order":                        {`"path": "debug"`, `"path": "zzz"`},
		"a place twice":                   {`"path": "fsevents"`, `"path": "express"`},
		"a place in nothing":              {`"path": "express/node_modules/debug"`, `"path": "expresss/node_modules/debug"`},
		"a requirement in vain":           {`"fsevents"` + "\n   ]", `"fseventz"` + "\n   ]"},
		"a requirement twice":             {`"express",`, `"fsevents",`},
		"systems of what is not optional": {`   "optional": true,` + "\n", ""},
		"a strange system":                {`"darwin"`, `"dar/win"`},
		"a strange engine":                {"=18 ||", "=18 https://x ||"},
		"another layout":                  {"\n  {", "\n {"},
		"something after it":              {"]\n}\n", "]\n}\n{}\n"},
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add(sampleTree().Text())
	f.Add([]byte(`{"hermes-lock": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := ParseTree(data); err == nil && string(got.Text()) != string(data) {
			t.Errorf("%q reads as %q", data, got.Text())
		}
	})
}

// As Node.js looks for it.
func TestWhatAPackageFinds(t *testing.T) {
	tree := sampleTree()
	for _, c := range []struct{ from, name, want string }{
		{"express", "debug", "express/node_modules/debug"}, {"@m/server", "debug", "debug"}, {"express/node_modules/debug", "debug", "express/node_modules/debug"},
		{"express/node_modules/debug", "express", "express"}, {"debug", "debug", "debug"}, {"debug", "none", ""}, {"", "debug", "debug"},
	} {
		got := ""
		if n := tree.Found(c.from, c.name); n != nil {
			got = n.Path
		}
		if got != c.want {
			t.Errorf("%s finds %s at %q", c.from, c.name, got)
		}
	}
}

func TestAStaleTreeIsNoticed(t *testing.T) {
	if err := sampleTree().Current([]string{"@m/server@1.0.0"}); err != nil {
		t.Error(err)
	}
	if err := sampleTree().Current([]string{"@m/server@1.0.1"}); err == nil {
		t.Error("it was made for another version")
	}
	for _, specs := range [][]string{{"@m/server@1.0.1"}, {"none@1.0.0"}, {"debug"}} {
		if err := NewTree("x", specs, sampleTree().Packages).Current(specs); err == nil {
			t.Errorf("it has %q", specs)
		}
	}
}

func TestLoadTree(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadTree(dir, "mcp.memory"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, NodeLocks), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mcp.memory", "other"} {
		if err := os.WriteFile(TreePath(dir, name), sampleTree().Text(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := LoadTree(dir, "mcp.memory"); err != nil || !reflect.DeepEqual(got, sampleTree()) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := LoadTree(dir, "other"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("the lock of another feature: %v", err)
	}
}
