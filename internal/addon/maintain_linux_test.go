package addon

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func (d *desk) state(name string) State {
	d.Helper()
	all := d.manager().Status(d.ctx()).Features
	i := slices.IndexFunc(all, func(s FeatureStatus) bool { return s.Name == name })
	if i < 0 {
		d.Fatalf("no status of %s", name)
	}
	return all[i].State
}

func TestRemoveAndRollback(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	one := d.digest()
	d.ensure("tts.voice")
	both := d.digest()
	d.index.Break("*", wheelsDown) // none of this needs the network
	m := d.manager()
	if err := m.Remove(d.ctx(), "nothing.here"); err == nil {
		t.Error("what is not installed was removed")
	}
	if err := m.Remove(d.ctx(), "tts.voice"); err != nil {
		t.Fatal(err)
	}
	if d.digest() != one || d.state("tts.voice") != Available || d.state("search.one") != Installed {
		t.Errorf("without it: %s, %s, %s", d.digest(), d.state("tts.voice"), d.state("search.one"))
	}
	if got := d.python("import search_sdk, shared, voice_sdk"); !strings.Contains(got, "No module named 'voice_sdk'") {
		t.Errorf("Python says %q", got)
	}
	if g, err := m.Rollback(d.ctx()); err != nil || g.Digest != both || d.digest() != both || d.state("tts.voice") != Installed {
		t.Errorf("back to %v, %v, it is %s", g, err, d.state("tts.voice"))
	}
	if err := m.Remove(d.ctx(), "tts.voice", "search.one"); err != nil {
		t.Fatal(err)
	}
	if got := d.python("import shared"); !strings.Contains(got, "No module named 'shared'") {
		t.Errorf("with nothing left Python says %q", got)
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	d := newDesk(t)
	m := d.manager()
	if _, _, err := m.Verify(d.ctx()); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty store: %v", err)
	}
	d.ensure("search.one")
	g, problems, err := m.Verify(d.ctx())
	if err != nil || len(problems) > 0 || g.Digest != d.digest() {
		t.Fatalf("a whole one: %v, %v", problems, err)
	}
	file := filepath.Join(g.SitePackages(), "shared.py")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("n = 666\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, problems, err := m.Verify(d.ctx()); err != nil || len(problems) == 0 || !strings.Contains(problems[0].Path, "shared.py") {
		t.Errorf("a changed one: %v, %v", problems, err)
	}
	// What was changed is not built upon, and not spread.
	if _, err := m.Ensure(d.ctx(), "tts.voice"); err == nil {
		t.Error("it was built upon")
	}
	if leftOut, err := m.Rebuild(d.ctx()); err != nil || len(leftOut) > 0 {
		t.Fatalf("%v, %v", leftOut, err)
	}
	if _, problems, err := m.Verify(d.ctx()); err != nil || len(problems) > 0 {
		t.Errorf("a rebuilt one: %v, %v", problems, err)
	}
	if got := d.python("import shared; print(shared.n)"); got != "1" {
		t.Errorf("Python says %q", got)
	}
}

// A pin of the list that changes replaces what is there, whatever that was.
func TestD32APinCanBeRaised(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	if all := d.manager().Refresh(d.ctx()); len(all) != 2 || all[0].Result != "current" || all[1].Result != "current" {
		t.Errorf("nothing changed: %+v", all)
	}
	d.features[0].Specs = []string{"search-sdk==1.1"}
	if got := d.state("search.one"); got != Outdated {
		t.Errorf("it is %s", got)
	}
	if all := d.manager().Refresh(d.ctx()); len(all) != 2 || all[0] != (Outcome{"search.one", "refreshed", ""}) || all[1].Result != "current" {
		t.Errorf("%+v", all)
	}
	if got := d.python("import search_sdk, importlib.metadata as m; print(search_sdk.answer, [x.version for x in m.distributions() if x.name == 'search-sdk'])"); got != "11 ['1.1']" {
		t.Errorf("Python says %q", got)
	}
	d.features[0].Specs = []string{"search-sdk==9"}
	d.features = append(d.features[:1:1], d.features[2:]...) // tts.voice is listed no more
	all := d.manager().Refresh(d.ctx())
	if len(all) != 2 || all[0].Result != "failed" || all[0].Reason == "" || all[1].Result != "skipped" {
		t.Errorf("%+v", all)
	}
	if got := d.python("import search_sdk, voice_sdk; print(search_sdk.answer)"); got != "11" {
		t.Errorf("after a failure Python says %q", got)
	}
}

// anotherABI is the same runtime, which says that it is another one.
func (d *desk) anotherABI() {
	d.Helper()
	root := filepath.Join(d.TempDir(), "other")
	if err := os.CopyFS(root, os.DirFS(d.runtime.Root)); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { sealed.Remove(root) })
	file := filepath.Join(root, "hermes-runtime.json")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.Chmod(file, 0o644)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "cpython-311", "cpython-399")), 0o644)
	}
	if err != nil {
		d.Fatal(err)
	}
	d.env[core.Variable] = root
}

func TestD50WantedFeaturesAreRebuiltForAnotherInterpreter(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	old := d.digest()
	stamp := func() string {
		text, _ := os.ReadFile(filepath.Join(d.store(), ".python-abi"))
		return strings.TrimSpace(string(text))
	}
	if stamp() != d.runtime.ABI {
		t.Errorf("the stamp is %q", stamp())
	}
	d.anotherABI()
	d.index.Break("*", wheelsDown)
	if d.state("search.one") != Outdated {
		t.Errorf("it is %s", d.state("search.one"))
	}
	// Without the network, and without asking an index: which versions are meant is known, the wheels are in the cache.
	leftOut, err := d.manager(func(o *Options) { o.Offline = true }).Rebuild(d.ctx())
	if err != nil || len(leftOut) > 0 {
		t.Fatalf("%v, %v", leftOut, err)
	}
	if d.state("search.one") != Installed || d.state("tts.voice") != Installed || !strings.Contains(stamp(), "cpython-399") {
		t.Errorf("it is %s, and the stamp %q", d.state("search.one"), stamp())
	}
	if d.digest() != old {
		t.Error("the other interpreter's generation was touched")
	}
	done, err := d.manager().Collect(d.ctx(), store.Collect{Keep: 0, OtherABIs: true})
	if err != nil || !slices.Contains(done.Removed, d.runtime.Tag) {
		t.Errorf("collected %+v, %v", done, err)
	}
}

func TestTheBillOfMaterials(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	text, err := d.manager().SBOM(d.ctx())
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BomFormat  string
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &bill); err != nil || bill.BomFormat != "CycloneDX" || len(bill.Components) != 2 || bill.Components[0].Purl != "pkg:pypi/search-sdk@1.0" {
		t.Errorf("%+v, %v", bill, err)
	}
}

// With a shipped lock no index is asked which versions there are.
func TestAShippedLockIsTheTruth(t *testing.T) {
	d := newDesk(t)
	all := offered()
	by := func(name, version string) lock.Package {
		i := slices.IndexFunc(all, func(w wheels.Wheel) bool { return w.Name == name && w.Version == version })
		return lock.Package{Name: name, Version: version, Hashes: []string{all[i].Hash()}}
	}
	d.ships(lock.Lock{Feature: "search.one", Packages: []lock.Package{by("core-lib", "1.5"), by("search-sdk", "1.0"), by("shared", "1.0")}})
	d.ensure("search.one")
	status := d.manager().Status(d.ctx())
	if status.Features[0].Lock != lock.Shipped {
		t.Errorf("%+v", status.Features[0])
	}
	if n := d.index.Hits("core_lib-1.5-py3-none-any.whl"); n > 0 {
		t.Errorf("what the core has was fetched %d times", n)
	}
	// One with the hash of another file installs nothing.
	wrong := by("voice-sdk", "3.0")
	wrong.Hashes = by("shared", "1.0").Hashes
	d.ships(lock.Lock{Feature: "tts.voice", Packages: []lock.Package{by("core-lib", "1.5"), by("shared", "1.0"), wrong}})
	before := d.digest()
	d.refuses(d.manager(), "tts.voice", unavailable.Failed)
	if d.digest() != before {
		t.Error("it was published")
	}
}

// ships puts a lock into a copy of the runtime.
func (d *desk) ships(l lock.Lock) {
	d.Helper()
	f := d.features[slices.IndexFunc(d.features, func(f feature.Feature) bool { return f.Name == l.Feature })]
	l.Tag, l.Kind, l.Specs = d.runtime.Tag, lock.Shipped, lock.Digest(f.Specs)
	d.shipsFile(lock.Path("", l.Tag, l.Feature), l.Format())
}

// shipsFile puts a file among the locks of the runtime, of which there is a copy for this desk then.
func (d *desk) shipsFile(name string, text []byte) {
	d.Helper()
	if root := d.env[core.Variable]; root == d.runtime.Root {
		copied := filepath.Join(d.TempDir(), "shipping")
		if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { sealed.Remove(copied) })
		d.env[core.Variable] = copied
	}
	path := filepath.Join(d.env[core.Variable], "locks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		d.Fatal(err)
	}
}

// gc leaves of the cache what the wanted features can be built from again without a network, and nothing else.
func TestCollectPrunesTheCache(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	if err := d.manager().Remove(d.ctx(), "tts.voice"); err != nil {
		t.Fatal(err)
	}
	d.index.Break("*", wheelsDown)
	offline := func(o *Options) { o.Offline = true }
	// The generation before still has it.
	if _, err := d.manager().Collect(d.ctx(), store.Collect{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if leftOut, err := d.manager(offline).Rebuild(d.ctx()); err != nil || len(leftOut) > 0 {
		t.Errorf("the first time: %v, %v", leftOut, err)
	}
	if _, err := d.manager().Collect(d.ctx(), store.Collect{Keep: 0}); err != nil {
		t.Fatal(err)
	}
	if leftOut, err := d.manager(offline).Rebuild(d.ctx()); err != nil || len(leftOut) > 0 {
		t.Errorf("what is wanted is gone from the cache: %v, %v", leftOut, err)
	}
	for name, stays := range map[string]bool{"search-sdk": true, "shared": true, "voice-sdk": false} {
		found, err := filepath.Glob(filepath.Join(d.store(), ".hermes/cache/uv/wheels-v*/index/*", name))
		if err != nil || len(found) > 0 != stays {
			t.Errorf("of %s the cache has %q", name, found)
		}
	}
}
