package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/wheels"
)

func resolve(t *testing.T, i Installer, w Wish) (lock.Lock, error) {
	t.Helper()
	w.Feature = "some.feature"
	l, err := i.Resolve(t.Context(), w)
	i.checkClean(t)
	return l, err
}

// pins are what a lock has.
func pins(l lock.Lock) string {
	var all []string
	for _, p := range l.Packages {
		all = append(all, p.String())
	}
	return strings.Join(all, " ")
}

var (
	appOne   = wheels.Wheel{Name: "App", Version: "1.0", Requires: []string{"dep>=1"}}
	appTwo   = wheels.Wheel{Name: "App", Version: "2.0", Requires: []string{"dep>=2"}}
	appYoung = wheels.Wheel{Name: "App", Version: "3.0", Requires: []string{"dep>=2"}, Uploaded: time.Now()}
	depOne   = wheels.Wheel{Name: "dep", Version: "1.0"}
	depTwo   = wheels.Wheel{Name: "dep", Version: "2.0"}
	depThree = wheels.Wheel{Name: "dep", Version: "2.5"}
)

func TestResolvedAgainstTheCore(t *testing.T) {
	x := wheels.Serve(t, appOne, appTwo, appYoung, depOne, depTwo, depThree)
	i := installer(t, withUV(t), x.URL)
	i.Runtime.Tag = "some-tag"
	var events []Event
	i.Progress = func(e Event) { events = append(events, e) }
	for want, core := range map[string]map[string]string{
		"app==2.0 dep==2.5": {"unrelated": "1.0"},
		"app==2.0 dep==2.0": {"dep": "2.0", "unrelated": "1.0"},
		"app==1.0 dep==1.0": {"dep": "1.0"},
	} {
		l, err := resolve(t, i, Wish{Specs: []string{"app"}, Core: core})
		if err != nil || pins(l) != want {
			t.Errorf("%v: %s, %v", core, pins(l), err)
		}
		if l.Kind != lock.FirstUse || l.Tag != "some-tag" || l.Feature != "some.feature" || l.Current([]string{"app"}) != nil {
			t.Errorf("it is %+v", l)
		}
		if read, err := lock.Parse(l.Format()); err != nil || pins(read) != want {
			t.Errorf("it reads as %+v, %v", read, err)
		}
	}
	l, err := resolve(t, i, Wish{Specs: []string{"app==2.0"}})
	if err != nil || l.Packages[0].Hashes[0] != appTwo.Hash() {
		t.Errorf("%+v, %v", l, err)
	}
	if len(events) == 0 || events[0].Phase != Resolving {
		t.Errorf("the progress was %v", events)
	}
}

// D32: what the store has does not constrain what comes into it.
func TestD32APinCanBeRaised(t *testing.T) {
	x := wheels.Serve(t, appOne, depOne)
	i := installer(t, withUV(t), x.URL)
	store := t.TempDir()
	i.Cache = filepath.Join(store, "cache")
	old, err := resolve(t, i, Wish{Specs: []string{"app==1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	generation := filepath.Join(store, "generation")
	if err := install(t, i, old.Packages, generation); err != nil {
		t.Fatal(err)
	}
	x.Add(appTwo, depTwo)
	i.Cache = filepath.Join(store, "another") // whose index pages are not yet old
	i.Environ = append(i.Environ, "PYTHONPATH="+generation)
	raised, err := resolve(t, i, Wish{Specs: []string{"app==2.0"}})
	if err != nil || pins(raised) != "app==2.0 dep==2.0" {
		t.Errorf("%s, %v", pins(raised), err)
	}
}

func TestAConflictWithTheCoreNamesBothVersionsBeforeAnythingIsWritten(t *testing.T) {
	x := wheels.Serve(t, appTwo, depOne, depTwo)
	i := installer(t, withUV(t), x.URL)
	for name, c := range map[string]struct {
		core map[string]string
		want []string
	}{
		"its own":        {map[string]string{"app": "1.0"}, []string{"app==2.0", "app 1.0"}},
		"a dependency's": {map[string]string{"dep": "1.0"}, []string{"dep>=2", "dep==1.0"}},
	} {
		_, err := resolve(t, i, Wish{Specs: []string{"app==2.0"}, Core: c.core})
		if !errors.Is(err, unavailable.Conflict) || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := resolve(t, i, Wish{Specs: []string{"nowhere"}, Core: map[string]string{"dep": "1.0"}}); !errors.Is(err, unavailable.Failed) {
		t.Errorf("what is nowhere: %v", err)
	}
	if _, err := resolve(t, i, Wish{Specs: []string{"--index-url=x"}}); !errors.Is(err, unavailable.Unsafe) {
		t.Errorf("what is no requirement: %v", err)
	}
}

// D47: a mirror without upload times is told from one that has only young releases, and the policy and its switch are
// named.
func TestD47TheMinimumAgeIsNamed(t *testing.T) {
	x := wheels.Serve(t, appOne, appYoung, depTwo)
	r := withUV(t)
	_, err := resolve(t, installer(t, r, x.URL), Wish{Specs: []string{"app==3.0"}})
	for _, want := range []string{"14 days", "the policy", "younger", MinAgeVariable} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("young: it does not say %s: %v", want, err)
		}
	}
	x.HTMLOnly()
	i := installer(t, r, x.URL)
	_, err = resolve(t, i, Wish{Specs: []string{"app==1.0"}, Core: map[string]string{"dep": "2.0"}})
	for _, want := range []string{"14 days", "the policy", "no upload times", MinAgeVariable + "=0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no times: it does not say %s: %v", want, err)
		}
	}
	i.MinAge = -1
	if l, err := resolve(t, i, Wish{Specs: []string{"app"}}); err != nil || pins(l) != "app==3.0 dep==2.0" {
		t.Errorf("without the policy: %s, %v", pins(l), err)
	}
	// It is a policy of choosing: what a lock has is installed whatever the mirror knows.
	if err := install(t, i, locked(appOne, depTwo), target(t)); err != nil {
		t.Error(err)
	}
}

func TestPipResolvesWithoutUV(t *testing.T) {
	t.Parallel()
	x := wheels.Serve(t, appOne, appTwo, depOne, depTwo, depThree)
	i := installer(t, withPip(t), x.URL)
	i.MinAge = -1
	l, err := resolve(t, i, Wish{Specs: []string{"app"}, Core: map[string]string{"dep": "2.0"}})
	if err != nil || pins(l) != "app==2.0 dep==2.0" || l.Packages[0].Hashes[0] != appTwo.Hash() {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = resolve(t, i, Wish{Specs: []string{"app==2.0"}, Core: map[string]string{"dep": "1.0"}})
	if !errors.Is(err, unavailable.Conflict) || !strings.Contains(err.Error(), "dep>=2") || !strings.Contains(err.Error(), "dep==1.0") {
		t.Errorf("a conflict: %v", err)
	}
}

// D47 again, with what pip says of such an index.
func TestD47PipNeedsUploadTimesToo(t *testing.T) {
	r := fake(t, map[string]string{"python3": `case "$*" in *uploaded-prior-to*) echo "ERROR: Index x does not provide upload-time metadata." >&2; exit 1;; esac
while [ $# -gt 0 ]; do [ "$1" = --report ] && echo '{"install": []}' >"$2"; shift; done`})
	_, err := resolve(t, installer(t, r, ""), Wish{Specs: []string{"app"}})
	if err == nil || !strings.Contains(err.Error(), "no upload times") || !strings.Contains(err.Error(), MinAgeVariable+"=0") {
		t.Error(err)
	}
}

// A pip that cannot hold back young releases is not used as if it had.
func TestAPipWithoutTheMinimumAgeIsSaid(t *testing.T) {
	r := fake(t, map[string]string{"python3": `case "$*" in *uploaded-prior-to*) echo "no such option: --uploaded-prior-to" >&2; exit 2;; esac`})
	_, err := resolve(t, installer(t, r, ""), Wish{Specs: []string{"app"}})
	if err == nil || !strings.Contains(err.Error(), "too old") || !strings.Contains(err.Error(), MinAgeVariable+"=0") {
		t.Error(err)
	}
}

// A source alone is nothing that could be locked.
func TestOnlyWheelsAreResolved(t *testing.T) {
	x := wheels.Serve(t)
	marker := filepath.Join(t.TempDir(), "ran")
	x.AddSource(wheels.Source{Name: "gamma", Version: "1.0", Setup: "open('" + marker + "', 'w')"})
	if l, err := resolve(t, installer(t, withUV(t), x.URL), Wish{Specs: []string{"gamma"}}); err == nil {
		t.Errorf("it is %+v", l)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("code of a package ran")
	}
}
