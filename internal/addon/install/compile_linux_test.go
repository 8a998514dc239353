package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modules are Python, what only looks like it, and what a compiler could depend on by mistake.
var modules = map[string]string{
	"pkg/__init__.py":   "from . import other\n",
	"pkg/other.py":      "KNOWN = frozenset(('a', 'b', 'c', 'd'))\ndef f(x):\n    return x in {'one', 'two', 'three', 'four'}\n",
	"pkg/template.py":   "import {{ module }}\n",
	"pkg/zero.py":       "\x00",
	"pkg/long.py":       "x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "\n",
	"pkg/escape.py":     "pattern = '\\d'\n",
	"pkg/größe.py":      "n = 1\n",
	"pkg/latin.py":      "# coding: latin-1\nname = '\xe4'\n",
	"pkg/not listed.py": "raise SystemExit(1)\n",
}

func compiled(t *testing.T, i Installer) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	var list []string
	for name, text := range modules {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, " ") {
			list = append(list, name)
		}
	}
	if err := i.Compile(t.Context(), list, dir); err != nil {
		t.Fatal(err)
	}
	i.checkClean(t)
	found := make(map[string][]byte)
	all, err := filepath.Glob(filepath.Join(dir, "pkg/__pycache__/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if found[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(found[name], []byte(dir)) {
			t.Errorf("the bytecode of %s says where it was compiled", name)
		}
		// PEP 552: a hash of the source, which nobody compares with it.
		if flags := found[name][4]; flags != 1 {
			t.Errorf("the bytecode of %s has the flags %d", name, flags)
		}
	}
	return found
}

func TestModulesAreCompiled(t *testing.T) {
	i := installer(t, venv(t), "")
	first, second := compiled(t, i), compiled(t, i)
	for _, name := range []string{"__init__", "other", "escape", "größe", "latin"} {
		if len(first[name]) == 0 {
			t.Errorf("%s is not compiled", name)
		}
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s is compiled to something else the second time", name)
		}
	}
	if len(first) != 5 {
		t.Errorf("compiled are %d", len(first))
	}
}

func TestWhatCannotBeCompiledBecauseOfTheDiskIsAnError(t *testing.T) {
	i := installer(t, venv(t), "")
	dir := t.TempDir()
	for n := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m%d.py", n)), nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "__pycache__"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := i.Compile(t.Context(), []string{"m0.py", "m1.py", "m2.py"}, dir); err == nil {
		t.Error("no error")
	}
	i.checkClean(t)
}
