//go:build linux

// Package sealed builds small sealed Python runtimes for tests, as `make runtime` builds the real one, without the
// network.
package sealed

import (
	"context"
	"crypto/sha256"
	"fmt"
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
)

// Python is the interpreter that counts: the one of the distribution, which the image has too.
const Python = "/usr/bin/python3"

// bound is longer than pip takes for a few wheels on a busy machine.
const bound = 3 * time.Minute

// New builds a runtime whose core are the given wheels, files that pip accepts. Tests of a package whose TestMain
// calls Run share runtimes with the same core; nobody can write to them.
func New(t testing.TB, wheels ...string) *core.Runtime {
	t.Helper()
	if err := exec.Command(Python, "-I", "-c", "import venv").Run(); err != nil {
		t.Skipf("there is no %s", Python)
	}
	if r := shared.get(t, wheels); r != nil {
		return r
	}
	dir := scratch(t)
	t.Cleanup(func() { Remove(dir) })
	return build(t, dir, wheels)
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

func (p *pool) get(t testing.TB, wheels []string) *core.Runtime {
	t.Helper()
	if !p.on {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.Join(wheels, "\n")
	if r := p.built[key]; r != nil {
		return r
	}
	dir := scratch(t)
	p.dirs = append(p.dirs, dir)
	if p.built == nil {
		p.built = make(map[string]*core.Runtime)
	}
	p.built[key] = build(t, dir, wheels)
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

func build(t testing.TB, dir string, wheels []string) *core.Runtime {
	t.Helper()
	root := filepath.Join(dir, "runtime")
	Build(t, Sources(t, dir), Lock(t, wheels), root, links(wheels)...)
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

// Build runs the builder.
func Build(t testing.TB, sources, lock, root string, options ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	path := filepath.Join(sources, "lock.txt")
	if err := os.WriteFile(path, []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	python, err := filepath.EvalSymlinks(Python)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-I", filepath.Join(sources, "build.py"), root}, options...)...)
	cmd.Env = append(os.Environ(), "RUNTIME_LOCK="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build a runtime: %v\n%s", err, out)
	}
}

// links are the options by which pip finds the wheels and looks nowhere else.
func links(wheels []string) []string {
	options := []string{"--no-index"}
	for _, wheel := range wheels {
		options = append(options, "--find-links", filepath.Dir(wheel))
	}
	return options
}

// Lock names wheels exactly, in pip's format.
func Lock(t testing.TB, wheels []string) string {
	t.Helper()
	var lock strings.Builder
	for _, wheel := range wheels {
		content, err := os.ReadFile(wheel)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.SplitN(filepath.Base(wheel), "-", 3)
		fmt.Fprintf(&lock, "%s==%s --hash=sha256:%x\n", parts[0], parts[1], sha256.Sum256(content))
	}
	return lock.String()
}
