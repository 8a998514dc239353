package vet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/wheels"
)

// core is a small one with one of everything that can be shadowed.
var core = sealed.Description{
	Distributions: map[string]string{"pyyaml": "6.0", "httpx": "0.28.1"},
	Modules:       []string{"yaml", "httpx", "google", "hermes_addons", "sitecustomize", "usercustomize"},
	Namespaces:    []string{"google"},
	Stdlib:        []string{"json", "os", "test", "_thread"},
	EntryPoints:   []string{"console_scripts:httpx", "hermes.plugins:main"},
	Scripts:       []string{"uv", "httpx"},
}

// install stages wheels with a real tool.
func install(t testing.TB, tool wheels.Tool, tree string, all ...wheels.Wheel) {
	t.Helper()
	if out, err := wheels.Install(t, tool, tree, all...); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
}

// staged is a new tree with these wheels, made by uv.
func staged(t testing.TB, all ...wheels.Wheel) string {
	t.Helper()
	tree := t.TempDir()
	install(t, wheels.WithUV, tree, all...)
	return tree
}

// wanted is a lock with exactly these wheels.
func wanted(all ...wheels.Wheel) []lock.Package {
	var packages []lock.Package
	for _, w := range all {
		packages = append(packages, lock.Package{Name: pep508.Normalize(w.Name), Version: w.Version, Hashes: []string{w.Hash()}})
	}
	return packages
}

// noBytecode is how it is for what an installer left: none of it is ours.
func noBytecode(string) bool { return false }

func check(t testing.TB, tree string, all ...wheels.Wheel) *Report {
	t.Helper()
	r, err := Check(tree, core, wanted(all...), noBytecode)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expect fails unless the report refuses the file by the rule.
func expect(t testing.TB, r *Report, rule Rule, file string) {
	t.Helper()
	for _, p := range r.Problems {
		if p.Rule == rule && p.File == file {
			return
		}
	}
	t.Errorf("%s does not refuse %q; the problems are:\n%s", rule, file, lines(r.Problems))
}

// only fails if the report has problems by other rules.
func only(t testing.TB, r *Report, rules ...Rule) {
	t.Helper()
	for _, p := range r.Problems {
		allowed := false
		for _, rule := range rules {
			allowed = allowed || p.Rule == rule
		}
		if !allowed {
			t.Errorf("also refused: %s", p)
		}
	}
}

// refused stages a hostile wheel with uv, which takes it, and expects one rule to refuse it.
func refused(t *testing.T, rule Rule, file string, w wheels.Wheel) *Report {
	t.Helper()
	t.Parallel()
	r := check(t, staged(t, w), w)
	expect(t, r, rule, file)
	only(t, r, rule)
	for _, p := range r.Problems {
		if p.Distribution != w.Name+" "+w.Version {
			t.Errorf("the problem does not say whose it is: %s", p)
		}
	}
	return r
}

// eachRefused stages a wheel for each of the files, and expects the rule to refuse every one.
func eachRefused(t *testing.T, core sealed.Description, rule Rule, files ...string) {
	t.Helper()
	t.Parallel()
	var all []wheels.Wheel
	for i, file := range files {
		all = append(all, wheels.Wheel{Name: "demo" + strconv.Itoa(i), Version: "1", Files: map[string]string{file: ""}})
	}
	r, err := Check(staged(t, all...), core, wanted(all...), noBytecode)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		expect(t, r, rule, file)
	}
	only(t, r, rule, Name) // names that differ in case only clash, too
	if len(r.Problems) < len(files) {
		t.Errorf("%d problems of %d files", len(r.Problems), len(files))
	}
}

func lines(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString("\t" + p.String() + "\n")
	}
	return b.String()
}

func write(t testing.TB, tree string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// python runs a program with the directories at the end of the search path, in this order.
func python(t testing.TB, program string, directories ...string) string {
	t.Helper()
	prologue := "import sys, site; sys.path += sys.argv[1:]\n"
	out, err := exec.Command("/usr/bin/python3", append([]string{"-I", "-c", prologue + program}, directories...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func demo(files map[string]string) wheels.Wheel {
	return wheels.Wheel{Name: "demo", Version: "1.0", Files: files}
}
