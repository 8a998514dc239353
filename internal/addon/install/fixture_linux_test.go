package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/wheels"
)

// bound is longer than any installation here takes on a busy machine.
const bound = 60 * time.Second

// interpreter is the one that counts.
const interpreter = "/usr/bin/python3"

// venv makes a runtime with a real interpreter. With "--system-site-packages" it has the machine's pip.
func venv(t *testing.T, args ...string) *sealed.Runtime {
	t.Helper()
	root := filepath.Join(t.TempDir(), "runtime")
	out, err := exec.Command(interpreter, append([]string{"-m", "venv", "--without-pip", root}, args...)...).CombinedOutput()
	if err != nil {
		t.Skipf("cannot make a runtime: %v %s", err, out)
	}
	return &sealed.Runtime{Root: root}
}

// withUV is a runtime with a real uv and no pip.
func withUV(t *testing.T) *sealed.Runtime {
	t.Helper()
	uv := wheels.UV(t)
	r := venv(t)
	if err := os.Symlink(uv, filepath.Join(r.Root, "bin/uv")); err != nil {
		t.Fatal(err)
	}
	return r
}

// withPip is a runtime with a real pip and no uv.
func withPip(t *testing.T) *sealed.Runtime {
	t.Helper()
	wheels.Pip(t)
	return venv(t, "--system-site-packages")
}

// installer for a runtime, from an index, with a cache of its own, and nothing of this machine's settings.
func installer(t *testing.T, r *sealed.Runtime, index string, environ ...string) Installer {
	t.Helper()
	dir := t.TempDir()
	return Installer{
		Runtime: r, Cache: filepath.Join(dir, "cache"), FilesRoot: filepath.Join(dir, "none"), Timeout: bound,
		Environ: append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir, "UV_DEFAULT_INDEX=" + index, "UV_HTTP_RETRIES=0", "PIP_RETRIES=0"}, environ...),
	}
}

// locked is what a lock has for wheels.
func locked(all ...wheels.Wheel) []lock.Package {
	var packages []lock.Package
	for _, w := range all {
		packages = append(packages, lock.Package{Name: pep508.Normalize(w.Name), Version: w.Version, Hashes: []string{w.Hash()}, Size: int64(len(w.Bytes()))})
	}
	return packages
}

func sample() []wheels.Wheel {
	return []wheels.Wheel{
		{Name: "alpha", Version: "1.0", Requires: []string{"never-installed"}, Files: map[string]string{"alpha/__init__.py": "name = 'alpha'\n"}},
		{Name: "beta.gamma", Version: "2.1", Files: map[string]string{"beta.py": "name = 'beta'\n"}},
	}
}

// tools runs a test with each of them, beside other tests: pip takes seconds to start.
func tools(t *testing.T, test func(t *testing.T, r *sealed.Runtime)) {
	t.Parallel()
	t.Run("uv", func(t *testing.T) { test(t, withUV(t)) })
	t.Run("pip", func(t *testing.T) { test(t, withPip(t)) })
}

func target(t *testing.T) string { return filepath.Join(t.TempDir(), "site-packages") }

func install(t *testing.T, i Installer, packages []lock.Package, into string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*bound)
	defer cancel()
	err := i.Install(ctx, packages, into)
	i.checkClean(t)
	return err
}

// checkClean finds what an installation should have taken away.
func (i Installer) checkClean(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(i.Cache, "tmp", "*")); len(left) > 0 {
		t.Errorf("there is still %v", left)
	}
}

// installed are the names in a directory that are no metadata.
func installed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".dist-info") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}
