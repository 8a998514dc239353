package pyruntime_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestMain(m *testing.M) { os.Exit(sealed.Run(m)) }

// coreWheel has every kind of package that an add-on could want to change.
var coreWheel = wheels.Wheel{
	Name: "core", Version: "1.0",
	Files: map[string]string{
		"coremodule.py":           "who = 'core'",
		"corepackage/__init__.py": "who = 'core'",
		"corespace/part.py":       "who = 'core'",
		"corelegacy/__init__.py":  "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\nwho = 'core'",
	},
	EntryPoints: map[string][]string{"console_scripts": {"coretool = coremodule:main"}, "core.plugins": {"first = coremodule"}},
}

// store is an add-on store as its directory looks, and the runtime whose processes use it.
type store struct {
	testing.TB
	runtime *core.Runtime
	target  string
	env     []string
	as      *syscall.SysProcAttr
}

func newStore(t testing.TB) *store {
	t.Helper()
	dir, err := os.MkdirTemp("", "hermes-store-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sealed.Remove(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	runtime := *sealed.New(t, coreWheel)
	s := &store{TB: t, runtime: &runtime, target: filepath.Join(dir, "lazy-packages")}
	s.env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "HERMES_LAZY_INSTALL_TARGET=" + s.target}
	return s
}

func (s *store) abi() string { return filepath.Join(s.target, ".hermes", s.runtime.Tag) }

func (s *store) generation(digest string) string {
	return filepath.Join(s.abi(), "generations", digest)
}

func (s *store) site(digest string) string {
	return filepath.Join(s.generation(digest), "site-packages")
}

// publish makes a generation with these files the current one, and returns its digest.
func (s *store) publish(files map[string]string) string {
	s.Helper()
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %q\n", name, files[name])
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	for name, content := range files {
		s.write(filepath.Join(s.site(digest), name), content)
	}
	s.write(filepath.Join(s.generation(digest), "lock"), "")
	s.point("generations/" + digest)
	return digest
}

func (s *store) write(path, content string) {
	s.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o444)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// point swaps the link to the current generation.
func (s *store) point(to string) {
	s.Helper()
	next := filepath.Join(s.abi(), "next")
	err := os.Symlink(to, next)
	if err == nil {
		err = os.Rename(next, filepath.Join(s.abi(), "current"))
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *store) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.runtime.Python(), args...)
	cmd.Env, cmd.SysProcAttr, cmd.Dir = s.env, s.as, "/"
	return cmd
}

// python runs the sealed interpreter, which must succeed and say nothing on stderr, and returns what it prints.
func (s *store) python(args ...string) string {
	s.Helper()
	return s.output(s.command(args...))
}

func (s *store) output(cmd *exec.Cmd) string {
	s.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		s.Fatalf("%q: %v\n%s", cmd.Args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// path is the search path of a process.
func (s *store) path(flags ...string) []string {
	s.Helper()
	return strings.Split(s.python(append(flags, "-c", "import sys; print('\\n'.join(sys.path))")...), "\n")
}

// last is the last entry of that path.
func (s *store) last() string {
	s.Helper()
	path := s.path()
	return path[len(path)-1]
}

// wantNothing fails if a process finds anything in the store.
func (s *store) wantNothing(why string) {
	s.Helper()
	if got := s.last(); got != s.runtime.Site() {
		s.Errorf("%s: the path ends with %s", why, got)
	}
}
