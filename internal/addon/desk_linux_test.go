package addon

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/feature"
	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// bound is longer than anything here takes on a busy machine.
const bound = 2 * time.Minute

// desk is a machine as add-ons see it: a real sealed runtime, a home, an index, and a list of features.
type desk struct {
	*testing.T
	runtime  *core.Runtime
	index    *wheels.Index
	home     string
	features []feature.Feature
	env      map[string]string
}

// anchored is what the core of every desk has.
var anchored = wheels.Wheel{Name: "core-lib", Version: "1.5", Files: map[string]string{"core_lib/__init__.py": "who = 'core'\n"}}

// offered are the wheels of the index.
func offered() []wheels.Wheel {
	return []wheels.Wheel{
		anchored,
		{Name: "core-lib", Version: "2.0", Files: map[string]string{"core_lib/__init__.py": "who = 'newer'\n"}},
		{Name: "search-sdk", Version: "1.0", Requires: []string{"shared>=1", "core-lib>=1"}, Files: map[string]string{"search_sdk/__init__.py": "import shared, core_lib\nanswer = shared.n\n"}},
		{Name: "search-sdk", Version: "1.1", Requires: []string{"shared>=1"}, Files: map[string]string{"search_sdk/__init__.py": "answer = 11\n"}},
		{Name: "voice-sdk", Version: "3.0", Requires: []string{"shared>=1"}, Files: map[string]string{"voice_sdk.py": "import shared\n"}},
		{Name: "shared", Version: "1.0", Files: map[string]string{"shared.py": "n = 1\n"}},
		{Name: "old-sdk", Version: "1.0", Requires: []string{"shared<1"}, Files: map[string]string{"old_sdk.py": ""}},
		{Name: "shared", Version: "0.5", Files: map[string]string{"shared.py": "n = 0\n"}},
		{Name: "needs-other-core", Version: "1.0", Requires: []string{"core-lib>=2"}, Files: map[string]string{"needs_other_core.py": ""}},
		{Name: "hostile", Version: "1.0", Files: map[string]string{"hostile.py": "", "core_lib/extra.py": "raise SystemExit('shadowed')\n"}},
		{Name: "hollow", Version: "1.0", Files: map[string]string{"something_else.py": ""}},
	}
}

func listed() []feature.Feature {
	return []feature.Feature{
		{Name: "search.one", Ecosystem: "python", Specs: []string{"search-sdk==1.0"}, Probes: []string{"search_sdk"}},
		{Name: "tts.voice", Ecosystem: "python", Specs: []string{"voice-sdk==3.0", "core-lib==1.5"}, Probes: []string{"voice_sdk", "core_lib"}},
		{Name: "memory.core", Ecosystem: "python", Specs: []string{"core-lib==1.5"}, Probes: []string{"core_lib"}},
		{Name: "old.one", Ecosystem: "python", Specs: []string{"old-sdk==1.0"}, Probes: []string{"old_sdk"}},
		{Name: "other.core", Ecosystem: "python", Specs: []string{"needs-other-core==1.0"}, Probes: []string{"needs_other_core"}},
		{Name: "bad.hostile", Ecosystem: "python", Specs: []string{"hostile==1.0"}, Probes: []string{"hostile"}},
		{Name: "bad.hollow", Ecosystem: "python", Specs: []string{"hollow==1.0"}, Probes: []string{"hollow"}},
		{Name: "bad.platform", Ecosystem: "python", Specs: []string{"search-sdk==1.0"}, Unsupported: []string{"linux"}},
		{Name: "bad.spec", Ecosystem: "python", Specs: []string{"x.whl"}},
	}
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	uv := wheels.UV(t)
	d := &desk{T: t, index: wheels.Serve(t, offered()...), home: filepath.Join(t.TempDir(), "home"), features: listed()}
	d.runtime = sealed.New(t, anchored)
	d.env = map[string]string{"PATH": filepath.Dir(uv) + ":/usr/bin:/bin", "HERMES_HOME": d.home, core.Variable: d.runtime.Root,
		"UV_DEFAULT_INDEX": d.index.URL, "UV_HTTP_RETRIES": "0", "HOME": t.TempDir()}
	if err := os.MkdirAll(d.home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sealed.Remove(d.home) })
	return d
}

func (d *desk) environ() (all []string) {
	for name, value := range d.env {
		all = append(all, name+"="+value)
	}
	return all
}

func (d *desk) options() Options {
	return Options{Lookup: func(name string) (string, bool) { value, ok := d.env[name]; return value, ok }, Environ: d.environ(), Features: d.features, Timeout: bound}
}

// manager is a new one, as another process would have.
func (d *desk) manager(change ...func(*Options)) *Manager {
	o := d.options()
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func (d *desk) ctx() context.Context {
	ctx, cancel := context.WithTimeout(d.Context(), bound)
	d.Cleanup(cancel)
	return ctx
}

func (d *desk) ensure(names ...string) {
	d.Helper()
	for _, name := range names {
		if _, err := d.manager().Ensure(d.ctx(), name); err != nil {
			d.Fatalf("ensure %s: %v", name, err)
		}
	}
}

// refuses expects a feature not to be had, for a reason, with words.
func (d *desk) refuses(m *Manager, name string, kind unavailable.Kind, words ...string) {
	d.Helper()
	_, err := m.Ensure(d.ctx(), name)
	if !errors.Is(err, kind) {
		d.Errorf("ensure %s: %v, want %s", name, err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			d.Errorf("no %q in %q", word, err)
		}
	}
}

// python runs a script with the sealed interpreter and returns what it says.
func (d *desk) python(script string) string {
	d.Helper()
	cmd := exec.CommandContext(d.ctx(), d.runtime.Python(), "-c", script)
	cmd.Env = d.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "failed: " + lastLine(string(out))
	}
	return strings.TrimSpace(string(out))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (d *desk) store() string { return filepath.Join(d.home, "lazy-packages") }

// digest is the current generation's, or "".
func (d *desk) digest() string {
	to, err := os.Readlink(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "current"))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

func TestMain(m *testing.M) {
	if text := os.Getenv(errandVariable); text != "" {
		doErrand(text)
	}
	os.Exit(sealed.Run(m))
}

var (
	wheelsDown = wheels.Fault{Status: 503}
	wheelsUp   = wheels.Fault{}
)
