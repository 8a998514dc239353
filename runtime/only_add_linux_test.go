package pyruntime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/test/sealed"
)

func TestTheCoresModulesWin(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{
		"coremodule.py":             "who = 'addon'",
		"corepackage/__init__.py":   "who = 'addon'",
		"json/__init__.py":          "who = 'addon'",
		"colorsys.py":               "who = 'addon'",
		"core-9.dist-info/METADATA": "Metadata-Version: 2.1\nName: core\nVersion: 9\n",
	})
	got := s.python("-c", `
import colorsys, coremodule, corepackage, json, importlib.metadata
print(coremodule.who, corepackage.who, hasattr(json, "who"), hasattr(colorsys, "who"), importlib.metadata.version("core"))`)
	if got != "core core False False 1.0" {
		t.Error(got)
	}
}

// Files that Python runs at start-up, when it finds them on its path or in a directory of site-packages.
func TestD40NothingOfTheStoreRunsAtStartUp(t *testing.T) {
	s := newStore(t)
	mark := filepath.Join(t.TempDir(), "ran")
	run := "open(" + quote(mark) + ", 'a').write(__name__ + ' ')\n"
	s.publish(map[string]string{
		"code.pth":              "import os; " + run,
		"path.pth":              "/tmp\n",
		"code.start":            "evil:main\n",
		"evil.py":               run + "def main(): pass\n",
		"sitecustomize.py":      run,
		"usercustomize.py":      run,
		"apport_python_hook.py": run + "def install(): pass\n",
	})
	for _, flags := range [][]string{{}, {"-I"}, {"-X", "dev"}} {
		got := s.python(append(flags, "-c", "import sys; print(sys.path[-1] in sys.path_importer_cache, '/tmp' in sys.path)")...)
		if got != "False False" {
			t.Errorf("with %q somebody has looked into the store, or a path file counts: %s", flags, got)
		}
	}
	s.python("-c", "import sitecustomize, usercustomize, apport_python_hook")
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("these ran: %s", ran)
	}
	s.python("-c", "import evil")
	if _, err := os.ReadFile(mark); err != nil {
		t.Error("what is imported by its name does not run: the marks show nothing")
	}
}

// A namespace package of the core is as closed as any other: last on the path is not enough for that.
func TestD40PackagesOfTheCoreAreClosed(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{
		"corespace/__init__.py":   "who = 'addon'",
		"corespace/part.py":       "who = 'addon'",
		"corelegacy/extra.py":     "",
		"corelegacy/__init__.py":  "",
		"addonspace/inner/mod.py": "who = 'addon'",
	})
	got := s.python("-c", `
import importlib.util, corespace.part, corelegacy, addonspace.inner.mod
print(corespace.part.who, getattr(corespace, "who", "nobody"), corelegacy.who, importlib.util.find_spec("corelegacy.extra"), addonspace.inner.mod.who)`)
	if got != "core nobody core None addon" {
		t.Errorf("a regular package over a namespace package: %s", got)
	}
	site := s.site(s.publish(map[string]string{"corespace/extra.py": "", "corelegacy/extra.py": ""}))
	const parts = `
import importlib.util, corespace.part
print(len(list(corespace.__path__)), importlib.util.find_spec("corespace.extra"), importlib.util.find_spec("corelegacy.extra"))`
	if got := s.python("-c", parts); got != "1 None None" {
		t.Errorf("a part of a namespace package: %s", got)
	}
	s.env = append(s.env, "PYTHONPATH="+site)
	if got := s.python("-c", parts); got != "1 None None" {
		t.Errorf("the same, with the store where it should not be: %s", got)
	}
}

// Python puts the directory of a script, or the working directory, before everything else.
func TestD40AWorkingDirectoryInTheStoreShadowsNothing(t *testing.T) {
	s := newStore(t)
	who := "import colorsys, coremodule\nprint(hasattr(colorsys, 'who'), coremodule.who)\n"
	site := s.site(s.publish(map[string]string{
		"colorsys.py": "who = 'addon'", "coremodule.py": "who = 'addon'", "script.py": who,
		"package/colorsys.py": "who = 'addon'", "package/coremodule.py": "who = 'addon'", "package/script.py": who,
		"package/__init__.py": "", "package/__main__.py": who,
	}))
	check := func(dir string, args ...string) {
		t.Helper()
		cmd := s.command(args...)
		cmd.Dir = dir
		if got := s.output(cmd); got != "False core" {
			t.Errorf("in %s, %q: %s", dir, args, got)
		}
	}
	for _, dir := range []string{site, filepath.Join(site, "package")} {
		check(dir, "-c", who)
		check(dir, "script.py")
		check(dir, "-m", "script")
		check("/", filepath.Join(dir, "script.py"))
	}
	check("/", filepath.Join(site, "package"))
	check(site, "-m", "package")
	s.env = append(s.env, "PYTHONPATH="+site)
	check("/", "-c", who)
}

// What is in the store can be listed, found and read as everything else.
func TestToolsSeeAddons(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{
		"addon/__init__.py":                    "",
		"addon/data.txt":                       "content",
		"addon-2.0.dist-info/METADATA":         "Metadata-Version: 2.1\nName: addon\nVersion: 2.0\n",
		"addon-2.0.dist-info/entry_points.txt": "[core.plugins]\nsecond = addon\n",
	})
	got := s.python("-c", `
import importlib, importlib.metadata, importlib.resources, pkgutil
importlib.invalidate_caches()
print(importlib.metadata.version("addon"), importlib.resources.files("addon").joinpath("data.txt").read_text(),
    "addon" in {m.name for m in pkgutil.iter_modules()}, [e.name for e in importlib.metadata.entry_points(group="core.plugins")])`)
	if got != "2.0 content True ['first', 'second']" {
		t.Error(got)
	}
}

// The budget of start-up is a tenth of the interpreter's: nothing is imported for add-ons that it has not anyway.
func TestActivationImportsNothing(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{"addon.py": ""})
	const list = "import sys; print(*sorted(sys.modules))"
	plain, err := exec.Command(sealed.Python, "-I", "-c", list).Output()
	if err != nil {
		t.Fatal(err)
	}
	expected := append(strings.Fields(string(plain)), "hermes_addons", "fcntl", "sitecustomize", "apport_python_hook")
	for _, name := range strings.Fields(s.python("-I", "-c", list)) {
		if !slices.Contains(expected, name) {
			t.Errorf("it imports %s", name)
		}
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }
