package vet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/test/wheels"
)

// Each hole here is open as far as the installer is concerned: uv has put the wheel into the tree without a word.

func TestSameTopLevelModule(t *testing.T) {
	eachRefused(t, core, CoreModule, "yaml/__init__.py", "yaml.py", "yaml.pyc", "yaml.cpython-311-x86_64-linux-gnu.so", "yaml.abi3.so", "yaml.so", "YAML.py")
}

func TestStandardLibraryModule(t *testing.T) {
	eachRefused(t, core, StandardLibrary, "json.py", "_thread.so", "test/data.txt") // the last one has no __init__
}

// A package wins over a namespace package wherever it comes on the search path.
func TestPackageOverACoreNamespacePackage(t *testing.T) {
	sealed := t.TempDir()
	write(t, sealed, map[string]string{"google/part.py": "whose = 'core'"})
	w := demo(map[string]string{"google/__init__.py": "whose = 'store'"})
	tree := staged(t, w)
	if whose := python(t, "import google; print(google.whose)", sealed, tree); whose != "store" {
		t.Fatalf("the hole is not there: google is the %s's", whose)
	}
	r := check(t, tree, w)
	expect(t, r, CoreNamespace, "google/__init__.py")
	only(t, r, CoreNamespace)
	if !strings.Contains(r.Problems[0].Why, "would win") {
		t.Errorf("it does not say what would happen: %s", r.Problems[0])
	}
}

// A namespace package has parts wherever there is a directory of its name: what the core imports from it optionally
// would come from the store.
func TestFileInsideACoreNamespacePackage(t *testing.T) {
	sealed := t.TempDir()
	write(t, sealed, map[string]string{"google/part.py": ""})
	w := demo(map[string]string{"google/cloud/extra.py": "whose = 'store'"})
	tree := staged(t, w)
	if whose := python(t, "import google.cloud.extra as e; print(e.whose)", sealed, tree); whose != "store" {
		t.Fatal("the hole is not there")
	}
	r := check(t, tree, w)
	expect(t, r, CoreNamespace, "google/cloud/extra.py")
	only(t, r, CoreNamespace)
}

func TestFileInsideACorePackage(t *testing.T) {
	refused(t, CoreModule, "httpx/_plugin.py", demo(map[string]string{"httpx/_plugin.py": "", "demo.py": ""}))
}

func TestPathFile(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	w := demo(map[string]string{"demo.pth": "import os; open(" + quoted(marker) + ", 'w')\n", "demo.py": ""})
	tree := staged(t, w)
	python(t, "site.addsitedir(sys.argv[1])", tree)
	if _, err := os.Stat(marker); err != nil {
		t.Fatal("the hole is not there: the line of the file was not run")
	}
	r := check(t, tree, w)
	expect(t, r, Startup, "demo.pth")
	only(t, r, Startup)
}

func quoted(path string) string { return "'" + path + "'" }

func TestPackageFile(t *testing.T) {
	refused(t, Startup, "demo.pkg", demo(map[string]string{"demo.pkg": "/elsewhere\n", "demo.py": ""}))
}

func TestStartFile(t *testing.T) {
	refused(t, Startup, "demo.start", demo(map[string]string{"demo.start": "demo:main\n", "demo.py": ""}))
}

func TestCustomizeModules(t *testing.T) {
	bare := core
	bare.Modules = nil // even a core without such modules of its own gets none
	eachRefused(t, bare, Startup, "sitecustomize.py", "usercustomize.py", "sitecustomize.abi3.so", "usercustomize.pyc", "sitecustomize/__init__.py", "SiteCustomize.py")
}

func TestEditableInstall(t *testing.T) {
	refused(t, Startup, "__editable___demo_finder.py", demo(map[string]string{"__editable___demo_finder.py": ""}))
}

// Whoever makes a dictionary of entry points by their names gets the store's, which come last.
func TestEntryPointOfTheCore(t *testing.T) {
	mine := func(value string) wheels.Wheel {
		return wheels.Wheel{Name: "demo", Version: "1.0", Files: map[string]string{"demo.py": ""}, EntryPoints: map[string][]string{
			"hermes.plugins": {"main = " + value, "another = demo:other"}}}
	}
	sealed, tree := t.TempDir(), t.TempDir()
	install(t, wheels.WithUV, sealed, wheels.Wheel{Name: "core", Version: "1", EntryPoints: map[string][]string{"hermes.plugins": {"main = core:main"}}})
	w := mine("demo:main")
	install(t, wheels.WithUV, tree, w)
	lookup := "import importlib.metadata as m; print({e.name: e.value for e in m.entry_points(group='hermes.plugins')}['main'])"
	if found := python(t, lookup, sealed, tree); found != "demo:main" {
		t.Fatalf("the hole is not there: %s", found)
	}
	r := check(t, tree, w)
	expect(t, r, EntryPoint, "demo-1.0.dist-info/entry_points.txt")
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Why, "hermes.plugins:main") {
		t.Errorf("the problems are:\n%s", lines(r.Problems))
	}
}

// pydantic loads whatever is in its group as soon as somebody imports it.
func TestEntryPointThatTheCoreLoadsUnasked(t *testing.T) {
	refused(t, EntryPoint, "demo-1.0.dist-info/entry_points.txt", wheels.Wheel{Name: "demo", Version: "1.0",
		Files: map[string]string{"demo.py": ""}, EntryPoints: map[string][]string{"pydantic": {"demo = demo:plugin"}}})
}

// A wheel's scripts have whatever names it likes. None of them gets into a generation.
func TestScriptsNamedLikeTools(t *testing.T) {
	for _, tool := range []wheels.Tool{wheels.WithUV, wheels.WithPip} {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			w := wheels.Wheel{Name: "demo", Version: "1.0", Files: map[string]string{"demo.py": ""},
				Scripts: map[string]string{"git": "#!python\n"}, EntryPoints: map[string][]string{"console_scripts": {"uv = demo:main"}}}
			tree := t.TempDir()
			install(t, tool, tree, w)
			for _, name := range []string{"bin/git", "bin/uv"} {
				if _, err := os.Stat(filepath.Join(tree, name)); err != nil {
					t.Fatalf("the hole is not there: %v", err)
				}
			}
			r := check(t, tree, w)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			if err := r.Tidy(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(tree, "bin")); !os.IsNotExist(err) {
				t.Errorf("the scripts are still there: %v", err)
			}
		})
	}
}

// What is no script must not get lost among them.
func TestModuleAmongScripts(t *testing.T) {
	refused(t, Script, "bin/__init__.py", demo(map[string]string{"bin/__init__.py": "", "demo.py": ""}))
}

func TestDistributionWithoutFiles(t *testing.T) {
	refused(t, Empty, "demo-1.0.dist-info", demo(nil))
	bundle := wheels.Wheel{Name: "bundle", Version: "1", Requires: []string{"demo"}}
	w := demo(map[string]string{"demo.py": ""})
	if err := check(t, staged(t, bundle, w), bundle, w).Err(); err != nil {
		t.Errorf("one that requires others is honest: %v", err)
	}
}

// uv clears such names away by itself, but for those that come out inside of the target; pip refuses the wheel.
func TestPathTraversal(t *testing.T) {
	for name, hostile := range map[string]struct {
		entry   string
		refused bool
	}{
		"up":       {"../../evil.py", false},
		"absolute": {"/evil.py", false},
		"data":     {"demo-1.0.data/data/../../evil.py", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := demo(map[string]string{"demo.py": ""})
			w.Hostile = []wheels.Entry{{Name: hostile.entry, Content: "evil"}}
			above := t.TempDir()
			tree := filepath.Join(above, "one", "site-packages")
			install(t, wheels.WithUV, tree, w)
			for _, outside := range []string{above, filepath.Dir(tree), "/"} {
				if _, err := os.Stat(filepath.Join(outside, "evil.py")); err == nil {
					t.Errorf("there is a file in %s", outside)
				}
			}
			r := check(t, tree, w)
			if hostile.refused {
				expect(t, r, Outside, hostile.entry)
				expect(t, r, Record, "evil.py")
			} else if err := r.Err(); err != nil {
				t.Errorf("uv left something of it: %v", err)
			}
		})
	}
}

func TestRecordThatLeadsOut(t *testing.T) {
	w := demo(map[string]string{"demo.py": ""})
	tree := staged(t, w)
	record := filepath.Join(tree, "demo-1.0.dist-info/RECORD")
	honest, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../evil.py", "../../../evil.py", "/etc/passwd", "demo/../../x", "./demo.py", "../../../../etc/passwd"} {
		write(t, tree, map[string]string{"demo-1.0.dist-info/RECORD": string(honest) + path + ",,\n"})
		expect(t, check(t, tree, w), Outside, path)
	}
}

func TestSymbolicLinks(t *testing.T) {
	w := demo(map[string]string{"demo.py": ""})
	w.Hostile = []wheels.Entry{{Name: "link.py", Content: "/etc/passwd", Mode: os.ModeSymlink | 0o777}}
	tree := staged(t, w)
	if info, err := os.Lstat(filepath.Join(tree, "link.py")); err != nil || !info.Mode().IsRegular() {
		t.Fatalf("uv made a link of a wheel's: %v %v", info, err)
	}
	secret := t.TempDir()
	write(t, secret, map[string]string{"inside.py": "", "deeper/x.py": ""})
	for name, to := range map[string]string{"file.py": "/etc/passwd", "directory": secret, "demo2.py": "demo.py", "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := check(t, tree, w)
	for _, name := range []string{"file.py", "directory", "demo2.py", "dangling"} {
		expect(t, r, Link, name)
	}
	only(t, r, Link)
	for _, f := range r.Files {
		if strings.HasPrefix(f.Path, "directory/") || f.Path == "file.py" {
			t.Errorf("%s was followed", f.Path)
		}
	}
	whole := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tree, whole); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(whole, core, wanted(w), noBytecode); err == nil {
		t.Error("a tree that is a link was looked at")
	}
}
