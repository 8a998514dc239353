package addon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// anotherCore gives the desk a runtime of the same interpreter with other packages, as a new image would.
func (d *desk) anotherCore(all ...wheels.Wheel) {
	d.Helper()
	other := sealed.New(d.T, all...)
	if other.ABI != d.runtime.ABI {
		d.Fatalf("it is for %s", other.ABI)
	}
	d.runtime, d.env[core.Variable] = other, other.Root
}

func (d *desk) brought(name string) bool {
	_, err := os.Stat(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "current", "site-packages", name))
	return err == nil
}

// The image was replaced and the volume stayed: what was checked against the core of before can be used, is told from
// what is checked, and is checked at its next use, without a network.
func TestD33AGenerationOfAnotherCoreIsMadeAnew(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	old := d.digest()
	d.anotherCore(anchored, wheels.Wheel{Name: "shared", Version: "1.0", Files: map[string]string{"shared.py": "n = 'core'\n"}})
	d.index.Break("*", wheelsDown)
	if !d.manager().Has(d.ctx(), "search.one") || d.python("import search_sdk; print(search_sdk.answer)") != "core" {
		t.Error("the old one cannot be used")
	}
	if got := d.state("search.one"); got != Outdated || !d.manager().Status(d.ctx()).Outdated {
		t.Errorf("it is %s", got)
	}
	done, err := d.manager().Ensure(d.ctx(), "search.one")
	if err != nil || done.Installed || done.Outdated != "" || done.Generation == old || done.Generation != d.digest() {
		t.Errorf("%+v, %v", done, err)
	}
	if d.brought("shared.py") || !d.brought("search_sdk") || !d.brought("voice_sdk.py") {
		t.Error("it was not made for this core")
	}
	if got := d.state("tts.voice"); got != Installed || d.manager().Status(d.ctx()).Outdated {
		t.Errorf("the other one is %s", got)
	}
	now := d.digest()
	if all := d.manager().Refresh(d.ctx()); len(all) != 2 || all[0].Result != "current" || all[1].Result != "current" || d.digest() != now {
		t.Errorf("%+v", all)
	}
}

// A process that found the runtime before it was replaced does not go back to it.
func TestD33AReplacedRuntimeIsFoundByWhoIsRunning(t *testing.T) {
	d := newDesk(t)
	link := filepath.Join(t.TempDir(), "runtime")
	if err := os.Symlink(d.runtime.Root, link); err != nil {
		t.Fatal(err)
	}
	d.env[core.Variable] = link
	running := d.manager()
	if _, err := running.Ensure(d.ctx(), "search.one"); err != nil {
		t.Fatal(err)
	}
	d.anotherCore(anchored, wheels.Wheel{Name: "further", Version: "1.0", Files: map[string]string{"further.py": ""}})
	if err := errors.Join(os.Remove(link), os.Symlink(d.runtime.Root, link)); err != nil {
		t.Fatal(err)
	}
	d.env[core.Variable] = link
	d.ensure("search.one")
	now := d.digest()
	if done, err := running.Ensure(d.ctx(), "search.one"); err != nil || done.Generation != now || d.digest() != now {
		t.Errorf("%+v, %v; %.12s is current after %.12s", done, err, d.digest(), now)
	}
}

// What cannot be made for the core as it is stays as it was, and that is said.
func TestD50WhatCannotBeMadeForAnotherCoreIsStillWanted(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	d.anotherCore(wheels.Wheel{Name: "core-lib", Version: "2.0", Files: map[string]string{"core_lib/__init__.py": "who = 'newer'\n"}})
	done, err := d.manager().Ensure(d.ctx(), "tts.voice")
	if err != nil || !strings.Contains(done.Outdated, "1.5") || !strings.Contains(done.Outdated, "2.0") {
		t.Errorf("%+v, %v", done, err)
	}
	if got := d.python("import voice_sdk, core_lib; print(core_lib.who)"); got != "newer" {
		t.Errorf("Python says %q", got)
	}
	d.env["HERMES_DISABLE_LAZY_INSTALLS"] = "1"
	if done, err := d.manager().Ensure(d.ctx(), "search.one"); err != nil || !strings.Contains(done.Outdated, "HERMES_DISABLE_LAZY_INSTALLS") {
		t.Errorf("where nothing may be installed: %+v, %v", done, err)
	}
	delete(d.env, "HERMES_DISABLE_LAZY_INSTALLS")
	all := d.manager().Refresh(d.ctx())
	if len(all) != 2 || all[0].Result != "refreshed" || all[1].Result != "failed" || !strings.Contains(all[1].Reason, "2.0") {
		t.Errorf("%+v", all)
	}
	// It is not in the generation for this core, and still wanted: the next core may have room for it.
	if got := d.state("tts.voice"); d.brought("voice_sdk.py") || got != Outdated {
		t.Errorf("it is %s", got)
	}
}

// Somebody removed a feature and was killed half-way, or restored the file that says what is wanted: whoever uses the
// feature wants it.
func TestD50WhatIsUsedIsWanted(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one", "tts.voice")
	before, requests := d.digest(), d.index.Requests()
	wanted := func() []string {
		p, err := d.manager().here(d.ctx())
		if err != nil {
			t.Fatal(err)
		}
		names, err := p.Desired()
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if err := d.manager().writing(d.ctx(), func(_ *place, w *store.Writer) error { return w.SetDesired([]string{"search.one"}) }); err != nil {
		t.Fatal(err)
	}
	done, err := d.manager().Ensure(d.ctx(), "tts.voice")
	if err != nil || done.Installed || done.Generation != before || d.index.Requests() != requests {
		t.Errorf("%+v, %v", done, err)
	}
	if got := wanted(); !slices.Equal(got, []string{"search.one", "tts.voice"}) {
		t.Errorf("wanted are %q", got)
	}
	// What the core has whole is nobody's wish.
	if _, err := d.manager().Ensure(d.ctx(), "memory.core"); err != nil || len(wanted()) != 2 {
		t.Errorf("%v, and wanted are %q", err, wanted())
	}
}
