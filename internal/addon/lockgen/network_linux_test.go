package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/sealed"
)

// probe appends a directory to the search path, as the activation does, and imports the rest of its arguments.
const probe = `import importlib, sys
sys.path.append(sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
`

// Every feature that has a lock is installed from the index, and what it promises is imported by the sealed interpreter;
// so are all of them together.
func TestEveryLockedFeatureImports(t *testing.T) {
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") != "1" {
		t.Skip("it uses the network: make test-network")
	}
	root, err := filepath.Abs(filepath.Join(top, runtimeDir))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERMES_RUNTIME", root)
	r, err := sealed.Find(t.Context(), os.LookupEnv, "")
	if err != nil {
		t.Skipf("there is no runtime: %v; run make runtime", err)
	}
	all, err := readLocks(filepath.Join(top, locksDir), r.Distributions)
	if err != nil {
		t.Fatal(err)
	}
	here, shipped := all[r.Tag]
	if !shipped {
		t.Skipf("no locks are shipped for %s", r.Tag)
	}
	tools, err := lock.Load(filepath.Join(top, locksDir), r.Tag, lock.BuildTools)
	if err != nil {
		t.Fatal(err)
	}
	_, noCompiler := exec.LookPath("cc")
	cache := t.TempDir()
	var together []lock.Lock
	var probes []string
	try := func(t *testing.T, packages []lock.Package, probes []string) {
		t.Helper()
		into := filepath.Join(t.TempDir(), "site-packages")
		if err := (install.Installer{Runtime: r, Cache: cache, Environ: os.Environ(), Tools: tools.Packages}).Install(t.Context(), packages, into); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(r.Python(), append([]string{"-I", "-B", "-c", probe, into}, probes...)...)
		cmd.Env = []string{"HOME=" + t.TempDir(), "HERMES_HOME=" + t.TempDir(), "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", probes, err, out)
		}
	}
	for _, f := range feature.All() {
		l, locked := here.locked[f.Name]
		if !locked {
			continue
		}
		if _, sources := lock.Apart(l.Packages); len(sources) > 0 && noCompiler != nil {
			t.Logf("%s is left out: there is no compiler", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) { try(t, l.Packages, f.Probes) })
		if _, err := lock.Union(append(together, l)...); err == nil {
			together, probes = append(together, l), append(probes, f.Probes...)
		}
	}
	t.Run("together", func(t *testing.T) {
		all, err := lock.Union(together...)
		if err != nil {
			t.Fatal(err)
		}
		try(t, all, probes)
	})
}
