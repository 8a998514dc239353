package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// exa are wheels under the names that the list of features has.
var exa = []wheels.Wheel{
	{Name: "exa-py", Version: "2.10.2", Requires: []string{"exa-part"}, License: "MIT", Files: map[string]string{"exa_py/__init__.py": "import exa_part\nname = 'exa'\n"}},
	{Name: "exa-part", Version: "1.0", Files: map[string]string{"exa_part.py": ""}},
	{Name: "edge-tts", Version: "7.2.7", Files: map[string]string{"edge_tts/__init__.py": "", "json.py": ""}},
}

// withAddons gives a world a sealed runtime and an index.
func withAddons(t *testing.T, w *world) (python string, index *wheels.Index) {
	t.Helper()
	uv := wheels.UV(t)
	runtime := sealed.New(t)
	index = wheels.Serve(t, exa...)
	w.env = append(w.env, "HERMES_RUNTIME="+runtime.Root, "UV_DEFAULT_INDEX="+index.URL, "UV_HTTP_RETRIES=0")
	w.env[0] += ":" + filepath.Dir(uv)
	t.Cleanup(func() { sealed.Remove(filepath.Join(w.home, "lazy-packages")) })
	return runtime.Python(), index
}

func TestAddons(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		python, index := withAddons(t, w)
		imports := func() string {
			cmd := w.command()
			cmd.Path, cmd.Args = python, []string{python, "-c", "import exa_py; print(exa_py.name)"}
			r := w.finish(cmd)
			return strings.TrimSpace(r.stdout)
		}
		if r := w.hermes("addon", "verify"); r.code != 0 || !strings.Contains(r.stderr, "nothing is installed") {
			t.Errorf("verify of nothing: %v", r)
		}
		if r := w.hermes("addon", "ensure", "search.exo"); r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, `perhaps "search.exa" was meant`) {
			t.Errorf("a name that is none: %v", r)
		}
		if r := w.hermes("addon", "ensure"); r.code != 2 || !oneLine(r.stderr) {
			t.Errorf("no name: %v", r)
		}
		var refused struct{ Feature, Kind, Reason string }
		r := w.hermes("addon", "ensure", "--json", "tts.edge")
		if err := json.Unmarshal([]byte(r.stdout), &refused); err != nil || r.code != 1 || refused.Feature != "tts.edge" || refused.Kind != "rejected" || !strings.Contains(refused.Reason, "json.py") {
			t.Errorf("a wheel that shadows the standard library: %v, %+v, %v", err, refused, r)
		}
		if r := w.hermes("addon", "ensure", "search.exa"); r.code != 0 || !strings.Contains(r.stderr, "search.exa is installed") || strings.Contains(r.stderr, "?") {
			t.Fatalf("ensure: %v", r)
		}
		if imports() != "exa" {
			t.Error("Python does not find it")
		}
		asked := index.Requests()
		if r := w.hermes("addon", "ensure", "search.exa"); r.code != 0 || !strings.Contains(r.stderr, "search.exa is there") || index.Requests() != asked {
			t.Errorf("the second time: %v", r)
		}
		if out := w.must("tools", "--installed"); !strings.Contains(out, "search.exa  installed  first-use") {
			t.Errorf("the list says\n%s", out)
		}
		if out := w.must("addon", "info", "search.exa"); !strings.Contains(out, "exa-py==2.10.2") {
			t.Errorf("info says\n%s", out)
		}
		var bill struct{ BomFormat string }
		if err := json.Unmarshal([]byte(w.must("addon", "sbom")), &bill); err != nil || bill.BomFormat != "CycloneDX" {
			t.Errorf("%+v, %v", bill, err)
		}
		w.must("addon", "remove", "search.exa")
		if imports() != "" {
			t.Error("it is there after remove")
		}
		w.must("addon", "rollback")
		if imports() != "exa" {
			t.Error("it is not there after rollback")
		}
		spoil(t, filepath.Join(w.home, "lazy-packages", ".hermes"))
		if r := w.hermes("addon", "verify", "--json"); r.code != 1 || !strings.Contains(r.stdout, "exa_part.py") || !oneLine(r.stderr) {
			t.Errorf("verify of a changed file: %v", r)
		}
		w.must("addon", "rebuild")
		w.must("addon", "verify")
		w.must("addon", "gc", "--keep", "0")
		var status struct {
			Target      string
			Generations []struct{ Current bool }
		}
		if err := json.Unmarshal([]byte(w.must("addon", "status", "--json")), &status); err != nil || len(status.Generations) != 1 || !status.Generations[0].Current {
			t.Errorf("%+v, %v", status, err)
		}
	})
}

// spoil changes a file of every generation, as whoever owns the store could.
func spoil(t *testing.T, store string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store, "*", "generations", "*", "site-packages", "exa_part.py"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if out, err := exec.Command("sh", "-c", `chmod u+w "$0" && echo changed >>"$0"`, file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

func TestAddonsAreSwitchedOff(t *testing.T) {
	w := newWorld(t, nil)
	_, index := withAddons(t, w)
	w.write(filepath.Join(w.home, "config.yaml"), "security:\n  allow_lazy_installs: \"no\"\n")
	r := w.hermes("addon", "ensure", "search.exa")
	if r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "security.allow_lazy_installs") || index.Requests() > 0 {
		t.Errorf("%v", r)
	}
	if r := w.hermes("addon", "doctor", "search.exa"); r.code != 1 || !strings.Contains(r.stdout, "note  installs") || !strings.Contains(r.stdout, "FIX: allow them with") {
		t.Errorf("what the doctor says of the switch: %v", r)
	}
	if err := os.Remove(filepath.Join(w.home, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "HERMES_RUNTIME=")
	if r := w.hermes("addon", "doctor", "search.exa"); r.code != 1 || !strings.Contains(r.stdout, "bad   runtime") || !strings.Contains(r.stdout, "make runtime") {
		t.Errorf("what the doctor says without a runtime: %v", r)
	}
	if r := w.hermes("addon", "ensure", "search.exa"); r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "make runtime") {
		t.Errorf("without a runtime: %v", r)
	}
}
