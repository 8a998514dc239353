package install

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	sealedtest "hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// unbuilt is a package of which there is only the source. It packs what it saw when it was built.
var unbuilt = wheels.Source{Name: "gamma", Version: "1.0", Setup: `import importlib.util, json, os, sys
seen = {"env": dict(os.environ), "path": sys.path, "extra": importlib.util.find_spec("alpha") is not None}
FILES = {"gamma/__init__.py": "name = 'gamma'\n", "gamma/seen.json": json.dumps(seen)}
`}

func source() lock.Package {
	return lock.Package{Name: "gamma", Version: "1.0", Hashes: []string{unbuilt.Hash()}, Source: true}
}

// An operator who lets packages be built gets them built from exactly what is locked, where nothing of the operator's is
// to be found, and beside what has a wheel. What was built once needs neither network nor building.
func TestD46APackageIsBuiltWithoutLogins(t *testing.T) {
	x := wheels.Serve(t, append(sample(), wheels.Backend())...)
	x.AddSource(unbuilt)
	host := strings.TrimPrefix(x.URL, "http://")
	r := withUV(t)
	i := installer(t, r, x.URL, "UV_INDEX=extra=http://user:secret-one@"+host, "UV_INDEX_EXTRA_PASSWORD=secret-two", "UV_INDEX_EXTRA_USERNAME=user",
		"OPENAI_API_KEY=secret-three", "NETRC=/secret-four", "SSL_CLIENT_CERT=/secret-five", "HTTP_PROXY=", "NO_PROXY=127.0.0.1")
	i.Tools = locked(wheels.Backend())
	var phases []Phase
	i.Progress = func(e Event) { phases = append(phases, e.Phase) }
	before := sealedtest.Fingerprint(t, r.Root)
	into := target(t)
	if err := install(t, i, append(locked(sample()...), source()), into); err != nil {
		t.Fatal(err)
	}
	if got := installed(t, into); !reflect.DeepEqual(got, []string{"alpha", "beta.py", "gamma"}) {
		t.Errorf("there is %v", got)
	}
	if phases[len(phases)-1] != Building {
		t.Errorf("the phases were %v", phases)
	}
	if sealedtest.Fingerprint(t, r.Root) != before {
		t.Error("the runtime has changed")
	}
	text, err := os.ReadFile(filepath.Join(into, "gamma", "seen.json"))
	if err != nil {
		t.Fatal(err)
	}
	var seen struct {
		Env   map[string]string
		Extra bool
	}
	if err := json.Unmarshal(text, &seen); err != nil || seen.Extra {
		t.Errorf("it saw %s, %v", text, err)
	}
	if strings.Contains(string(text), "secret-") || strings.Contains(string(text), "user:") {
		t.Errorf("it saw a login: %s", text)
	}
	if home := seen.Env["HOME"]; home == "" || home == i.getenv("HOME") {
		t.Errorf("its home was %q", home)
	}
	x.Break("*", wheels.Fault{Status: http.StatusServiceUnavailable})
	i.Offline = true
	if err := install(t, i, append(locked(sample()...), source()), target(t)); err != nil {
		t.Errorf("without the network: %v", err)
	}
}

// What is not locked is neither built nor built with.
func TestD42NothingIsBuiltFromWhatIsNotLocked(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	x := wheels.Serve(t, append(sample(), wheels.Backend())...)
	evil := unbuilt
	evil.Setup = "open('" + marker + "', 'w').close()\nFILES = {'gamma.py': ''}\n"
	x.AddSource(evil)
	i := installer(t, withUV(t), x.URL)
	for name, change := range map[string]func(p *lock.Package){
		"without leave":              func(*lock.Package) { i.Tools = nil },
		"another source":             func(p *lock.Package) { p.Hashes = []string{unbuilt.Hash()} },
		"other tools than asked for": func(*lock.Package) { i.Tools = locked(sample()[0]) },
	} {
		i.Tools = locked(wheels.Backend())
		p := source()
		p.Hashes = []string{evil.Hash()}
		change(&p)
		into := target(t)
		if err := install(t, i, []lock.Package{p}, into); err == nil {
			t.Errorf("%s: it was installed", name)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Fatalf("%s: its code ran", name)
		}
		if left := installed(t, into); len(left) > 0 {
			t.Errorf("%s: there is %v", name, left)
		}
	}
	// Where pip is all that there is, nothing is built: it cannot be told what to build with.
	i.Runtime, i.Tools = withPip(t), locked(wheels.Backend())
	p := source()
	p.Hashes = []string{evil.Hash()}
	if err := install(t, i, []lock.Package{p}, target(t)); err == nil || !strings.Contains(err.Error(), "no uv") {
		t.Errorf("with pip: %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("with pip: its code ran")
	}
}
