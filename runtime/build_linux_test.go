package pyruntime_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestARuntimeDescribesItself(t *testing.T) {
	r := sealed.New(t, coreWheel)
	if r.Version != 1 || !r.Activates || len(r.Inputs) != 64 || r.UV() != "" {
		t.Errorf("it is %+v", r.Description)
	}
	if got := fmt.Sprint(r.Distributions); got != "map[core:1.0]" {
		t.Errorf("distributions: %s", got)
	}
	if want := []string{"apport_python_hook", "corelegacy", "coremodule", "corepackage", "corespace", "hermes_adapters", "hermes_addons", "hermes_host", "sitecustomize", "usercustomize"}; !slices.Equal(r.Modules, want) {
		t.Errorf("modules: %q", r.Modules)
	}
	if !slices.Equal(r.Namespaces, []string{"corespace"}) {
		t.Errorf("namespaces: %q", r.Namespaces)
	}
	for _, name := range []string{"json", "_json", "sys", "__main__", "sitecustomize", "_sysconfigdata__" + strings.TrimPrefix(r.Tag, "cpython-311-")} {
		if !slices.Contains(r.Stdlib, name) {
			t.Errorf("the standard library has no %s", name)
		}
	}
	if !slices.Equal(r.EntryPoints, []string{"console_scripts:coretool", "core.plugins:first"}) {
		t.Errorf("entry points: %q", r.EntryPoints)
	}
	if !slices.Equal(r.Scripts, []string{"coretool", "python", "python3", "python3.11"}) {
		t.Errorf("scripts: %q", r.Scripts)
	}
	facts, err := exec.Command(r.Python(), "-I", "-c", "import sys, sysconfig as s; print('%d.%d:' % sys.version_info[:2] + s.get_config_var('EXT_SUFFIX'))").Output()
	if err != nil || r.ABI != strings.TrimSpace(string(facts)) || r.ABI != "3.11:."+r.Tag+".so" {
		t.Errorf("the ABI is %q, the tag %q, and it should be %s, %v", r.ABI, r.Tag, facts, err)
	}
}

func TestNothingInARuntimeCanBeWritten(t *testing.T) {
	r := sealed.New(t, coreWheel)
	files := 0
	err := filepath.WalkDir(r.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("looked at %d files, %v", files, err)
	}
	if _, err := os.Stat(filepath.Join(r.Site(), "__pycache__", "hermes_addons.cpython-311.pyc")); err != nil {
		t.Errorf("it is not compiled: %v", err)
	}
}

// It is built elsewhere than where it is used.
func TestARuntimeNamesItsOwnDirectory(t *testing.T) {
	r := sealed.New(t, coreWheel)
	err := filepath.WalkDir(r.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), ".staged") && !strings.Contains(path, "hermes-runtime") {
			t.Errorf("%s names the directory that it was built in", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(r.Root, "bin", "coretool"))
	if err != nil || !strings.HasPrefix(string(script), "#!"+r.Python()+"\n") {
		t.Errorf("the script begins with %.200s, %v", script, err)
	}
	record, err := os.Open(filepath.Join(r.Site(), coreWheel.DistInfo(), "RECORD"))
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	rows, err := csv.NewReader(record).ReadAll()
	if err != nil || len(rows) < len(coreWheel.Files)+4 {
		t.Fatalf("the record is %q, %v", rows, err)
	}
	for _, row := range rows {
		content, err := os.ReadFile(filepath.Join(r.Site(), row[0]))
		sum := sha256.Sum256(content)
		if want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]); err != nil || row[1] != "" && (row[1] != want || row[2] != fmt.Sprint(len(content))) {
			t.Errorf("the record says %q of what is %s, %v", row, want, err)
		}
	}
}

// workshop is a place to build in.
type workshop struct {
	testing.TB
	dir, sources, root string
}

func newWorkshop(t testing.TB) *workshop {
	t.Helper()
	dir := t.TempDir()
	w := &workshop{TB: t, dir: dir, sources: sealed.Sources(t, dir), root: filepath.Join(dir, "runtime")}
	t.Cleanup(func() { sealed.Remove(w.root); sealed.Remove(w.root + ".staged") })
	return w
}

func (w *workshop) build(core ...wheels.Wheel) string {
	w.Helper()
	out, err := sealed.Build(w, w.sources, w.root, core...)
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return out
}

// change adds to a source, so that there is something to build.
func (w *workshop) change() {
	w.Helper()
	f, err := os.OpenFile(filepath.Join(w.sources, "activation", "hermes_addons.py"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		fmt.Fprintln(f, "# changed")
		err = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

// watch looks for the runtime all the time, until it is asked how often there was none.
func (w *workshop) watch() (missed func() int) {
	stop, count := make(chan struct{}), make(chan int)
	go func() {
		missed := 0
		for {
			select {
			case <-stop:
				count <- missed
				return
			default:
				if _, err := os.Stat(filepath.Join(w.root, "lib", "python3.11", "site-packages", "hermes_addons.pth")); err != nil {
					missed++
				}
			}
		}
	}()
	return func() int { close(stop); return <-count }
}

func inode(t testing.TB, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestARuntimeIsBuiltAnewWhenItsInputsChange(t *testing.T) {
	w := newWorkshop(t)
	w.build()
	first := inode(t, w.root)
	if out := w.build(); out != "" || !os.SameFile(first, inode(t, w.root)) {
		t.Errorf("nothing has changed, and it is built anew: %s", out)
	}
	w.change()
	always := w.watch()
	w.build()
	if missed := always(); missed > 0 {
		t.Errorf("in between there was none, %d times", missed)
	}
	if os.SameFile(first, inode(t, w.root)) {
		t.Error("a source has changed, and it is not built anew")
	}
	if err := os.MkdirAll(filepath.Join(w.sources, "locks", "tag"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join("tag", "search.test.txt")
	if err := os.WriteFile(filepath.Join(w.sources, "locks", lock), []byte("x==1"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.build()
	if text, err := os.ReadFile(filepath.Join(sealed.Find(t, w.root).Locks(), lock)); err != nil || string(text) != "x==1" {
		t.Errorf("the lock in it is %q, %v", text, err)
	}
	if left, _ := filepath.Glob(w.root + "?*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWhatMustNotBeSealedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		core wheels.Wheel
		lock func(string) string
		says string
	}{
		"code at start-up": {core: wheels.Wheel{Name: "a", Version: "1", Files: map[string]string{"a.pth": "import os\n"}}, says: "cannot seal the runtime: a.pth"},
		"another hash":     {core: wheels.Wheel{Name: "a", Version: "1"}, lock: func(s string) string { return regexp.MustCompile("sha256:.{8}").ReplaceAllString(s, "sha256:00000000") }, says: "DO NOT MATCH THE HASHES"},
		"no hash":          {core: wheels.Wheel{Name: "a", Version: "1"}, lock: func(s string) string { return strings.Fields(s)[0] }, says: "hashes"},
		"another Python":   {core: wheels.Wheel{Name: "a", Version: "1"}, lock: func(s string) string { return "# CPython 3.99. Made.\n" + s }, says: "is for Python 3.99"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkshop(t)
			w.build()
			before := inode(t, w.root)
			lock := sealed.Lock(c.core)
			if c.lock != nil {
				lock = c.lock(lock)
			}
			if err := os.WriteFile(filepath.Join(w.sources, "core.txt"), []byte(lock), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := sealed.Builder(t, w.sources, w.root, "--no-index", "--find-links", wheels.Dir(t, c.core)).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %s", err, out)
			}
			if strings.Contains(string(out), "Traceback") {
				t.Errorf("it is no message for people: %s", out)
			}
			if !os.SameFile(before, inode(t, w.root)) {
				t.Error("the runtime that was there is gone")
			}
			if left, _ := filepath.Glob(w.root + "?*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// A machine without pip has the one in ensurepip. It takes long to unpack.
func TestARuntimeIsBuiltWithoutPip(t *testing.T) {
	if os.Getenv("HERMES_SOAK") == "" {
		t.Skip("it takes half a minute on a slow machine: set HERMES_SOAK=1")
	}
	w := newWorkshop(t)
	if err := os.WriteFile(filepath.Join(w.sources, "core.txt"), []byte(sealed.Lock(coreWheel)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := sealed.Builder(t, w.sources, w.root, "--no-index", "--find-links", wheels.Dir(t, coreWheel))
	cmd.Args = slices.Insert(cmd.Args, 1, "-S") // without the distribution's packages, of which pip is one
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := sealed.Find(t, w.root); len(r.Distributions) != 1 || slices.Contains(r.Modules, "pip") {
		t.Errorf("it has %v, %q", r.Distributions, r.Modules)
	}
}

// Who builds may have add-ons, which are none of the core's.
func TestAddonsAreNotDescribed(t *testing.T) {
	s, w := newStore(t), newWorkshop(t)
	s.publish(map[string]string{"addon.py": ""})
	if err := os.WriteFile(filepath.Join(w.sources, "core.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := sealed.Builder(t, w.sources, w.root)
	cmd.Env = append(cmd.Env, s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := sealed.Find(t, w.root); slices.Contains(r.Modules, "addon") {
		t.Errorf("its modules are %q", r.Modules)
	}
}

// The old runtime is removed: a directory that is something else must not be taken for one.
func TestABuildRemovesNothingButRuntimes(t *testing.T) {
	w := newWorkshop(t)
	precious := filepath.Join(w.dir, "precious")
	link := filepath.Join(w.dir, "link")
	file := filepath.Join(precious, "file")
	if err := os.Mkdir(precious, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{precious, file, link} {
		if out, err := sealed.Build(t, w.sources, root); err == nil || !strings.Contains(out, "is no runtime") {
			t.Errorf("%s: %v: %s", root, err, out)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "x" {
		t.Errorf("it is %q, %v", content, err)
	}
	if err := os.Mkdir(w.root, 0o755); err != nil {
		t.Fatal(err)
	}
	w.build() // an empty one is in nobody's way
}

// A build that is killed leaves the runtime that was there or the new one, and the next build succeeds.
func TestAKilledBuildLeavesAWholeRuntime(t *testing.T) {
	w := newWorkshop(t)
	began := time.Now()
	w.build()
	took := time.Since(began)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	kills, landed := 8, 0
	if os.Getenv("HERMES_SOAK") != "" {
		kills = 100
	}
	for range kills {
		w.change()
		before := sealed.Find(t, w.root).Inputs
		cmd := sealed.Builder(t, w.sources, w.root, "--no-index")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killer := time.AfterFunc(time.Duration(random.Int64N(int64(took*5/4))), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			landed++
		}
		killer.Stop()
		r := sealed.Find(t, w.root)
		out, err := exec.Command(r.Python(), "-c", "import hermes_addons, sitecustomize, json; print(1)").CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "1" {
			t.Fatalf("what is left does not run: %v %s", err, out)
		}
		w.build()
		if sealed.Find(t, w.root).Inputs == before {
			t.Error("the build after the kill has built nothing")
		}
		if left, _ := filepath.Glob(w.root + "?*"); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	t.Logf("%d of %d kills met a build that ran", landed, kills)
}

// What a killed build has started goes on for a while, and must not meet the next build.
func TestABuildWaitsForWhatAKilledOneLeft(t *testing.T) {
	w := newWorkshop(t)
	reached, gate := filepath.Join(w.dir, "reached"), filepath.Join(w.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	slow := fmt.Sprintf("open(%q, 'w').close()\nopen(%q).read()\n", reached, gate)
	if err := os.WriteFile(filepath.Join(w.sources, "describe.py"), []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.sources, "core.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := sealed.Builder(t, w.sources, w.root)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(reached); err != nil; _, err = os.Stat(reached) {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	alone, err := os.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if err := syscall.Flock(int(alone.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
		t.Errorf("another build could begin: %v", err)
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	open.Close()
	if err := syscall.Flock(int(alone.Fd()), syscall.LOCK_EX); err != nil {
		t.Error(err)
	}
}
