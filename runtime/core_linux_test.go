package pyruntime_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/test/sealed"
)

func TestTheCoreIsLocked(t *testing.T) {
	lock, err := os.ReadFile("core.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(lock), "# CPython 3.11. ") {
		t.Error("it does not begin with the Python that it is for")
	}
	if strings.Contains(string(lock), "://") {
		t.Error("it names a host: where packages come from is the operator's to say")
	}
	versions := map[string]string{}
	for _, block := range regexp.MustCompile(`(?m)^([a-z0-9-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)`).FindAllStringSubmatch(string(lock), -1) {
		versions[block[1]] = block[2]
	}
	if pins := strings.Count(string(lock), "=="); len(versions) != pins || pins < 8 {
		t.Errorf("%d of %d packages have hashes", len(versions), pins)
	}
	wanted, err := os.ReadFile("core.in")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(wanted)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if line == "" {
			continue
		}
		name, pin, pinned := strings.Cut(line, "==")
		name, _, _ = strings.Cut(strings.ToLower(name), "<")
		if versions[name] == "" || pinned && versions[name] != pin {
			t.Errorf("core.in wants %s, and locked is %q: run make runtime-lock", line, versions[name])
		}
	}
}

// The whole core, where somebody has built it: this needs the network, and takes long.
func TestTheWholeCoreWorks(t *testing.T) {
	root, err := filepath.Abs("../.cache/runtime")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err != nil {
		t.Skip("it is not built: run make runtime")
	}
	r := sealed.Find(t, root)
	if out, err := exec.Command(r.UV(), "--version").CombinedOutput(); err != nil {
		t.Errorf("uv: %v: %s", err, out)
	}
	cmd := exec.Command(r.Python(), "-c", "import certifi, httpx, mcp.client.stdio, packaging, pip, pydantic, uv, yaml; pydantic.TypeAdapter(int).validate_python('1')")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	cmd = exec.Command(r.Python(), "-m", "pip", "--disable-pip-version-check", "check")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("its packages do not fit together: %v: %s", err, out)
	}
	if !slices.Contains(r.Scripts, "uv") || r.Distributions["pyyaml"] == "" {
		t.Errorf("it says of itself %+v", r.Description)
	}
}

func TestTheScriptBuildsARuntime(t *testing.T) {
	dir := t.TempDir()
	lock, root := filepath.Join(dir, "lock.txt"), filepath.Join(dir, "runtime")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sealed.Remove(root) })
	cmd := exec.Command("sh", "../scripts/runtime.sh", root)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "RUNTIME_LOCK=" + lock}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := sealed.Find(t, root); !r.Activates {
		t.Error("it does not activate add-ons")
	}
	// An upgrade that turns /usr/bin/python3 to another version must not take the runtime along.
	real, err := filepath.EvalSymlinks(sealed.Python)
	if err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(root, "bin", filepath.Base(real))); err != nil || to != real {
		t.Errorf("its interpreter is %s, %v", to, err)
	}
	cmd = exec.Command("sh", "../scripts/runtime.sh", root)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "PYTHON=/nowhere/python3"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot build the Python runtime: there is no /nowhere/python3") {
		t.Errorf("%v: %s", err, out)
	}
}

// Python writes byte code beside what it imports, and root is stopped by no mode.
func TestImportsWriteNothing(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{"addon.py": "", "package/__init__.py": "", "package/inner/module.py": ""})
	runtime, store := tree(t, s.runtime.Root), tree(t, s.target)
	for _, flags := range [][]string{{}, {"-O"}, {"-OO"}, {"-I"}} {
		s.python(append(flags, "-c", "import addon, package.inner.module, coremodule, corepackage, corespace.part, usercustomize")...)
	}
	if after := tree(t, s.runtime.Root); !slices.Equal(runtime, after) {
		t.Errorf("the runtime, before and after:\n%q\n%q", runtime, after)
	}
	if after := tree(t, s.target); !slices.Equal(store, after) {
		t.Errorf("the store, before and after:\n%q\n%q", store, after)
	}
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, path+" "+info.Mode().String()+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
