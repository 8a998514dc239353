package addon

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/test/wheels"
)

// compile compiles, and returns the new generation's digest.
func (d *desk) compile() string {
	d.Helper()
	if err := d.manager().Compile(d.ctx()); err != nil {
		d.Fatal(err)
	}
	return d.digest()
}

// site is a path in the current generation.
func (d *desk) site(names ...string) string {
	return filepath.Join(append([]string{d.store(), ".hermes", d.runtime.Tag, "current", "site-packages"}, names...)...)
}

// bytecode is where that of a module is, by what the interpreter itself says.
func (d *desk) bytecode(dir, module string) string {
	return d.site(dir, "__pycache__", module+"."+d.python("import sys; print(sys.implementation.cache_tag)")+".pyc")
}

// loads says what an interpreter that imports a module loads it from.
func (d *desk) loads(module string) string {
	d.Helper()
	cmd := exec.CommandContext(d.ctx(), d.runtime.Python(), "-v", "-c", "import "+module)
	cmd.Env = d.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "code object from") && strings.Contains(line, module) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func TestWhatIsInstalledIsCompiled(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	before := d.digest()
	if line := d.loads("search_sdk"); strings.Contains(line, ".pyc") {
		t.Fatalf("it is compiled before it is: %s", line)
	}
	after := d.compile()
	if line := d.loads("search_sdk"); after == before || !strings.Contains(line, ".pyc") {
		t.Errorf("it is not compiled: %s", line)
	}
	// Whoever sees a traceback sees where the module is, and not where it was compiled.
	if file := d.python("import search_sdk, os; print(os.path.realpath(search_sdk.__spec__.loader.get_code('search_sdk').co_filename))"); !strings.Contains(file, after) {
		t.Errorf("its code says that it is %s", file)
	}
	if data, err := os.ReadFile(d.bytecode("search_sdk", "__init__")); err != nil || bytes.Contains(data, []byte("staging")) {
		t.Errorf("the place where it was compiled is in the bytecode: %v", err)
	}
	if err := d.whole(); err != nil {
		t.Error(err)
	}
	again := d.manager(func(o *Options) { o.Progress = func(p Progress) { t.Errorf("it is compiled twice: %s", p.Phase) } })
	if err := again.Compile(d.ctx()); err != nil || d.digest() != after {
		t.Errorf("the second time: %v", err)
	}
	// What is taken over is not compiled again, and what comes to it is.
	d.ensure("tts.voice")
	if line := d.loads("search_sdk"); !strings.Contains(line, ".pyc") {
		t.Errorf("the bytecode was lost: %s", line)
	}
	d.compile()
	if line := d.loads("voice_sdk"); !strings.Contains(line, ".pyc") {
		t.Errorf("the new one is not compiled: %s", line)
	}
	if err := d.manager().Remove(d.ctx(), "tts.voice"); err != nil {
		t.Fatal(err)
	}
	if d.digest() != after {
		t.Error("the same features are another generation")
	}
}

// A generation and the same with bytecode are one step of the history.
func TestBytecodeIsNoStepOfTheHistory(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	first := d.compile()
	d.ensure("tts.voice")
	plain := d.digest()
	second := d.compile()
	generations, err := d.manager().Generations(d.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range generations {
		if g.Current != (g.Digest == second) || g.Previous != (g.Digest == first) || g.Digest == plain {
			t.Errorf("%+v", g)
		}
	}
	if g, err := d.manager().Rollback(d.ctx()); err != nil || g.Digest != first {
		t.Errorf("it was rolled back to %s: %v", g.Digest, err)
	}
	if _, err := d.manager().Collect(d.ctx(), store.Collect{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.manager().Rollback(d.ctx()); err == nil {
		t.Error("there is something before the first")
	}
}

// Bytecode is code.
func TestVerifyFindsChangedBytecode(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	d.compile()
	path := d.bytecode("search_sdk", "__init__")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"changed": func() error { return os.WriteFile(path, append(data[:len(data)-1:len(data)-1], 'x'), 0o444) },
		"added": func() error {
			return os.WriteFile(strings.Replace(path, "__init__", "more", 1), data, 0o444)
		},
	} {
		if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := d.whole(); err == nil || !strings.Contains(err.Error(), ".pyc") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, data, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

// A wheel may bring bytecode that does something else than its source.
func TestD40AWheelsBytecodeIsNotTrusted(t *testing.T) {
	d := newDesk(t)
	source := filepath.Join(t.TempDir(), "double.py")
	if err := os.WriteFile(source, []byte("says = 'bytecode'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	name := d.python("import py_compile as p; print(p.compile('" + source + "', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH))")
	bytecode, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d.index.Add(wheels.Wheel{Name: "double", Version: "1.0", Files: map[string]string{"double.py": "says = 'source'\n", "__pycache__/" + filepath.Base(name): string(bytecode)}})
	d.features = append(d.features, feature.Feature{Name: "bad.double", Ecosystem: "python", Specs: []string{"double==1.0"}, Probes: []string{"double"}})
	d.ensure("bad.double")
	if says := d.python("import double; print(double.says)"); says != "source" {
		t.Errorf("what runs is the %s", says)
	}
	d.compile()
	if says := d.python("import double; print(double.says)"); says != "source" {
		t.Errorf("what runs, compiled, is the %s", says)
	}
}
