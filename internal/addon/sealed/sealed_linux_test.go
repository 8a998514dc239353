package sealed_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/sealed"
	helper "hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestMain(m *testing.M) { os.Exit(helper.Run(m)) }

func lookup(env ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

func TestTheRuntimeIsTheOneThatIsNamed(t *testing.T) {
	want := helper.New(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(want.Root, link); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{"HERMES_RUNTIME=" + want.Root}, {"HERMES_RUNTIME= " + want.Root + "/ "}, {"HERMES_RUNTIME=" + link}, {"HERMES_RUNTIME=~/link", "HOME=" + filepath.Dir(link)}} {
		r, err := sealed.Find(t.Context(), lookup(env...), "")
		if err != nil || r.Root != want.Root || r.ABI != want.ABI {
			t.Errorf("%q: %+v, %v", env, r, err)
		}
	}
	if want.Python() != filepath.Join(want.Root, "bin", "python3") || want.Locks() != filepath.Join(want.Root, "locks") {
		t.Errorf("it has %s and %s", want.Python(), want.Locks())
	}
}

func TestNoRuntimeSaysHowToGetOne(t *testing.T) {
	if _, err := os.Stat(sealed.Default); err == nil {
		t.Skipf("there is %s", sealed.Default)
	}
	_, err := sealed.Find(t.Context(), lookup("HERMES_RUNTIME= "), "")
	if !errors.Is(err, sealed.ErrNone) || !strings.Contains(err.Error(), "make runtime") {
		t.Error(err)
	}
	// One that is named and is not there is a mistake, and not the absence of one.
	_, err = sealed.Find(t.Context(), lookup("HERMES_RUNTIME=/nowhere"), "")
	if err == nil || errors.Is(err, sealed.ErrNone) || !strings.Contains(err.Error(), "HERMES_RUNTIME=/nowhere") {
		t.Error(err)
	}
}

// venv makes a plain virtual environment.
func venv(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(helper.Python, "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot make a virtual environment: %v: %s", err, out)
	}
	return dir
}

func TestAPlainEnvironmentIsAskedOnce(t *testing.T) {
	root, cache := venv(t), t.TempDir()
	site := filepath.Join(root, "lib", "python3.11", "site-packages")
	find := func() *sealed.Runtime {
		t.Helper()
		r, err := sealed.Find(t.Context(), lookup("HERMES_RUNTIME="+root), cache)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := find()
	if first.Activates || first.Inputs != "" || !slices.Contains(first.Stdlib, "json") || len(first.Distributions) > 0 || first.Site() != site {
		t.Errorf("it is %+v", first)
	}
	// An interpreter that says something else shows who is asked.
	kept := filepath.Join(cache, "core.json")
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte(strings.Replace(string(before), `"python":"3`, `"python":"kept 3`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := find(); !strings.HasPrefix(again.Description.Python, "kept") {
		t.Errorf("it is asked again: %s", again.Description.Python)
	}
	w := wheels.Wheel{Name: "New.Dist", Version: "2", Files: map[string]string{"newmodule.py": ""}}
	if out, err := wheels.Install(t, wheels.WithPip, site, w); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	later := find()
	if later.Distributions["new-dist"] != "2" || !slices.Contains(later.Modules, "newmodule") {
		t.Errorf("after an install it has %v, %v", later.Distributions, later.Modules)
	}
	if err := os.WriteFile(kept, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := find(); again.Distributions["new-dist"] != "2" {
		t.Error("a spoilt answer counts")
	}
}

// What asks runs code of the environment: not with the caller's secrets, and not for ever.
func TestAnInterpreterThatIsAskedSeesNothingOfTheCaller(t *testing.T) {
	root := venv(t)
	python := filepath.Join(root, "bin", "python3")
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("SECRET_OF_THE_CALLER", "1")
	script := "#!/bin/sh\nenv >" + seen + "\nexec " + helper.Python + ` "$@"` + "\n"
	if err := os.Remove(python); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	// The answer is about another environment, and is refused for that.
	if _, err := sealed.Find(t.Context(), lookup("HERMES_RUNTIME="+root), ""); err == nil {
		t.Error("it is believed")
	}
	if env, err := os.ReadFile(seen); err != nil || strings.Contains(string(env), "SECRET") || strings.Contains(string(env), "HOME=") {
		t.Errorf("it sees %s, %v", env, err)
	}
	for _, c := range []struct{ script, says string }{
		{"#!/bin/sh\necho first >&2; echo why >&2; exit 3\n", "exit status 3: why"},
		{"#!/bin/sh\nexec sleep 60\n", "deadline"},
		{"#!/bin/sh\nexec cat /dev/zero\n", "broken pipe"},
		{"#!/bin/sh\necho '{}'\n", "format 0"},
		{"#!/bin/sh\necho nothing\n", "cannot be read"},
	} {
		if err := os.WriteFile(python, []byte(c.script), 0o755); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := sealed.Find(ctx, lookup("HERMES_RUNTIME="+root), "")
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", c.script, err)
		}
	}
}

func TestARuntimeThatOthersCanChangeIsRefused(t *testing.T) {
	root := venv(t)
	find := func() error {
		_, err := sealed.Find(t.Context(), lookup("HERMES_RUNTIME="+root), "")
		return err
	}
	if err := find(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "bin", "lib/python3.11", "lib/python3.11/site-packages", "pyvenv.cfg"} {
		path := filepath.Join(root, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()|0o020); err != nil {
			t.Fatal(err)
		}
		if err := find(); err == nil || !strings.Contains(err.Error(), "others can write") {
			t.Errorf("%s can be written: %v", name, err)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() != 0 {
			continue
		}
		if err := os.Chown(path, 54321, 54321); err != nil {
			t.Fatal(err)
		}
		if err := find(); err == nil || !strings.Contains(err.Error(), "belongs to user 54321") {
			t.Errorf("%s is another's: %v", name, err)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(root, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	if err := find(); err == nil || !strings.Contains(err.Error(), "no interpreter") {
		t.Error(err)
	}
}

func TestStartsAreMeasuredSideBySide(t *testing.T) {
	r := helper.New(t)
	took, err := r.Starts(t.Context(), 2, []string{"A=1"}, nil)
	if err != nil || len(took) != 2 || took[0] <= 0 || took[1] <= 0 {
		t.Errorf("%v, %v", took, err)
	}
}
