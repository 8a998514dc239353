package backend

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(errandVariable); home != "" {
		os.Exit(keep(home))
	}
	os.Exit(sealed.Run(m))
}

// desk is a stage with add-ons: a real sealed runtime, whose core has the tests' server, an index, and a list of
// features.
type desk struct {
	*stage
	index    *wheels.Index
	env      map[string]string
	features []feature.Feature
	locks    string
}

// listed are the features: of the core alone, and of packages of the index. The server is the same for all.
func listed() []feature.Feature {
	const server = "module:test_server"
	return []feature.Feature{
		{Name: "core.other", Ecosystem: "python", Specs: []string{"server-lib==1.0"}, Entry: server, Credentials: []string{"OTHER_KEY"}},
		{Name: "core.server", Ecosystem: "python", Specs: []string{"server-lib==1.0"}, Entry: server, Args: []string{"--in", "{data}", "{workspace}"},
			Env: map[string]string{"STATE": "{data}/state"}, Credentials: []string{"API_KEY"}, Settings: []string{"PLACE"}},
		{Name: "core.strange", Ecosystem: "python", Specs: []string{"server-lib==1.0"}, Entry: "ruby:x"},
		{Name: "core.wrong", Ecosystem: "python", Specs: []string{"server-lib==1.0"}, Entry: "module:no_such_module"},
		{Name: "sdk.one", Ecosystem: "python", Specs: []string{"sdk-one==1.0"}, Probes: []string{"sdk_one"}, Entry: server},
		{Name: "sdk.three", Ecosystem: "python", Specs: []string{"sdk-three==1.0"}, Probes: []string{"sdk_three"}},
		{Name: "sdk.two", Ecosystem: "python", Specs: []string{"sdk-two==1.0"}, Probes: []string{"sdk_two"}, Entry: server},
	}
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	uv := wheels.UV(t)
	source, err := os.ReadFile("testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	lib := wheels.Wheel{Name: "server-lib", Version: "1.0", Files: map[string]string{"test_server.py": string(source)}}
	var offered []wheels.Wheel
	for _, name := range []string{"one", "two", "three"} {
		offered = append(offered, wheels.Wheel{Name: "sdk-" + name, Version: "1.0", Files: map[string]string{"sdk_" + name + ".py": "version = '1.0'\n"}})
	}
	d := &desk{stage: newStage(t), index: wheels.Serve(t, offered...), features: listed(), locks: t.TempDir()}
	d.env = map[string]string{"PATH": filepath.Dir(uv) + ":/usr/bin:/bin", "HERMES_HOME": d.home, core.Variable: sealed.New(t, lib).Root,
		"UV_DEFAULT_INDEX": d.index.URL, "UV_HTTP_RETRIES": "0", "HOME": t.TempDir(), "TZ": "UTC", "UNRELATED_TOKEN": "not for backends"}
	t.Cleanup(func() { sealed.Remove(d.home) })
	return d
}

// addons is a manager as another process would have.
func (d *desk) addons() *addon.Manager {
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(d.env)) {
		environ = append(environ, name+"="+d.env[name])
	}
	return addon.New(addon.Options{Lookup: func(name string) (string, bool) { value, ok := d.env[name]; return value, ok },
		Environ: environ, Features: d.features, Locks: d.locks, Timeout: bound})
}

// pool is one whose backends are ended with the test.
func (d *desk) pool(change ...func(*Options)) *Pool {
	d.Helper()
	o := Options{Addons: d.addons(), Sandboxes: d.manager, Home: d.home, Idle: bound, Bounds: Bounds{Start: bound, Call: bound}}
	for _, c := range change {
		c(&o)
	}
	p := NewPool(o)
	d.Cleanup(p.Close)
	return p
}

// asks calls a tool and expects an answer.
func (d *desk) asks(p *Pool, name, tool string, args object, vars map[string]string) object {
	d.Helper()
	result, err := p.Call(d.ctx(), name, tool, marshal(args), vars)
	if err != nil {
		d.Fatalf("%s %s: %v", name, tool, err)
	}
	var answer object
	if err := json.Unmarshal(result.Structured, &answer); err != nil || result.Failed {
		d.Fatalf("%s %s: %s, %v", name, tool, result.Content, err)
	}
	return answer
}

// process is which one answers.
func (d *desk) process(p *Pool, name string, vars map[string]string) int {
	d.Helper()
	return int(d.asks(p, name, "environment", nil, vars)["pid"].(float64))
}

// becomes waits until the pool's processes are in these phases.
func (d *desk) becomes(p *Pool, want ...Phase) {
	d.Helper()
	d.until(func() (any, bool) {
		phases := make([]Phase, 0)
		for _, s := range p.Status() {
			phases = append(phases, s.Phase)
		}
		return phases, slices.Equal(phases, want)
	})
}

// busy waits until so many calls are under way.
func (d *desk) busy(p *Pool, want int) {
	d.Helper()
	d.until(func() (any, bool) {
		n := 0
		for _, s := range p.Status() {
			n += s.Calls
		}
		return n, n == want
	})
}

func (d *desk) until(holds func() (any, bool)) {
	d.Helper()
	ctx := d.ctx()
	for {
		now, is := holds()
		if is {
			return
		}
		select {
		case <-ctx.Done():
			d.Fatalf("it stays %v", now)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
