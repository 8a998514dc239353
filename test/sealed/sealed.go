//go:build linux

// Package sealed builds small sealed Python runtimes for tests, as `make runtime` builds the real one, without the
// network.
package sealed

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	core "hermes.example/hermes/internal/addon/sealed"
	pyruntime "hermes.example/hermes/runtime"
	"hermes.example/hermes/test/wheels"
)

// Python is the interpreter that counts: the one of the distribution, which the image has too.
const Python = "/usr/bin/python3"

// bound is longer than pip takes for a few wheels on a busy machine.
const bound = 3 * time.Minute

// New builds a runtime whose core are the given wheels. Tests of a package whose TestMain calls Run share runtimes with
// the same core; nobody can write to them.
func New(t testing.TB, all ...wheels.Wheel) *core.Runtime {
	t.Helper()
	if err := exec.Command(Python, "-I", "-c", "import venv").Run(); err != nil {
		t.Skipf("there is no %s", Python)
	}
	if r := shared.get(t, all); r != nil {
		return r
	}
	dir := scratch(t)
	t.Cleanup(func() { Remove(dir) })
	return build(t, dir, all)
}

// Run runs the tests of a package, which share runtimes, and removes those: for TestMain.
func Run(m *testing.M) int {
	shared.on = true
	defer func() {
		for _, dir := range shared.dirs {
			Remove(dir)
		}
	}()
	return m.Run()
}

var shared pool

// pool has the runtimes that are shared.
type pool struct {
	on    bool
	mu    sync.Mutex
	built map[string]*core.Runtime
	dirs  []string
}

func (p *pool) get(t testing.TB, all []wheels.Wheel) *core.Runtime {
	t.Helper()
	if !p.on {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := Lock(all...)
	if r := p.built[key]; r != nil {
		return r
	}
	dir := scratch(t)
	p.dirs = append(p.dirs, dir)
	if p.built == nil {
		p.built = make(map[string]*core.Runtime)
	}
	p.built[key] = build(t, dir, all)
	return p.built[key]
}

// scratch is a directory that other users can reach.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hermes-sealed-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Remove removes a tree whose directories cannot be written, as that of a runtime or a generation.
func Remove(tree string) {
	_ = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	os.RemoveAll(tree)
}

func build(t testing.TB, dir string, all []wheels.Wheel) *core.Runtime {
	t.Helper()
	root := filepath.Join(dir, "runtime")
	if out, err := Build(t, Sources(t, dir), root, all...); err != nil {
		t.Fatalf("cannot build a runtime: %v\n%s", err, out)
	}
	return Find(t, root)
}

// Find opens a runtime that was built.
func Find(t testing.TB, root string) *core.Runtime {
	t.Helper()
	r, err := core.Find(t.Context(), func(name string) (string, bool) { return root, name == core.Variable }, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Sources writes the sources of the runtime into a directory, and returns where they are.
func Sources(t testing.TB, dir string) string {
	t.Helper()
	dir = filepath.Join(dir, "sources")
	if err := os.CopyFS(dir, pyruntime.Sources); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Build runs the builder, and returns what it said.
func Build(t testing.TB, sources, root string, all ...wheels.Wheel) (output string, err error) {
	t.Helper()
	lock := filepath.Join(sources, "core.txt")
	if err := os.WriteFile(lock, []byte(Lock(all...)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := Builder(t, sources, root, "--no-index", "--find-links", wheels.Dir(t, all...))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Builder is the command that builds what the sources and their core.txt say.
func Builder(t testing.TB, sources, root string, options ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	python, err := filepath.EvalSymlinks(Python)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-I", filepath.Join(sources, "build.py"), root}, options...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + sources, "PIP_CONFIG_FILE=" + os.DevNull, "TMPDIR=" + os.TempDir()}
	return cmd
}

// Lock names wheels exactly, in pip's format.
func Lock(all ...wheels.Wheel) string {
	var lock strings.Builder
	for _, w := range all {
		lock.WriteString(w.Pin() + "\n")
	}
	return lock.String()
}
