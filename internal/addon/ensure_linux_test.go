package addon

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/unavailable"
	sealedtest "hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestAFeatureIsInstalledAtItsFirstUse(t *testing.T) {
	d := newDesk(t)
	before := sealedtest.Fingerprint(t, d.runtime.Root)
	m := d.manager()
	if m.Has(d.ctx(), "search.one") {
		t.Error("it is there before")
	}
	done, err := m.Ensure(d.ctx(), "search.one")
	if err != nil || !done.Installed || done.Generation == "" || done.Generation != d.digest() {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := d.python("import search_sdk, core_lib; print(search_sdk.answer, core_lib.who)"); got != "1 core" {
		t.Errorf("Python says %q", got)
	}
	// A child of a child sees it, another interpreter does not.
	if got := d.python("import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import search_sdk; print(search_sdk.answer)'], capture_output=True, text=True).stdout)"); got != "1" {
		t.Errorf("its child says %q", got)
	}
	// Nothing of the generation changes by its use, although root may write everywhere.
	if _, problems, err := m.Verify(d.ctx()); err != nil || len(problems) > 0 {
		t.Errorf("after its use: %v, %v", problems, err)
	}
	requests := d.index.Requests()
	again, err := d.manager().Ensure(d.ctx(), "search.one")
	if err != nil || again.Installed || again.Generation != done.Generation || d.index.Requests() != requests {
		t.Errorf("the second time %+v, %v, and the index was asked %d times", again, err, d.index.Requests()-requests)
	}
	if after := sealedtest.Fingerprint(t, d.runtime.Root); after != before {
		t.Error("the core changed")
	}
	if !m.Has(d.ctx(), "search.one") {
		t.Error("the manager does not notice")
	}
}

// What the core has is not installed a second time.
func TestD37WhatTheCoreHasIsLeftOut(t *testing.T) {
	d := newDesk(t)
	d.ensure("tts.voice")
	if got := d.python("import voice_sdk, core_lib; print(core_lib.who)"); got != "core" {
		t.Errorf("Python says %q", got)
	}
	if found, _ := filepath.Glob(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "current", "site-packages", "core_lib*")); len(found) > 0 {
		t.Errorf("the store has %q", found)
	}
	done, err := d.manager().Ensure(d.ctx(), "memory.core")
	if err != nil || done.Installed || done.Generation != "" {
		t.Errorf("what the core has whole: %+v, %v", done, err)
	}
}

func TestWhatCannotBeHad(t *testing.T) {
	d := newDesk(t)
	m := d.manager()
	d.refuses(m, "search.on", unavailable.Unknown, "not in", "allowlist")
	d.refuses(m, "bad.platform", unavailable.Unsupported, "unsupported")
	d.refuses(m, "bad.spec", unavailable.Unsafe, "refusing to install unsafe spec")
	d.refuses(m, "other.core", unavailable.Conflict, "core-lib", "1.5")
	if n := d.index.Hits("needs_other_core-1.0-py3-none-any.whl"); n > 0 {
		t.Errorf("a package that cannot be installed was fetched %d times", n)
	}
	if d.digest() != "" {
		t.Error("something was published")
	}
	d.env["HERMES_MANAGED"] = "nixos"
	d.refuses(d.manager(), "search.one", unavailable.Unsupported, "unsupported on", "-managed installs")
	delete(d.env, "HERMES_MANAGED")
	d.env["HERMES_DISABLE_LAZY_INSTALLS"] = "true"
	d.refuses(d.manager(), "search.one", unavailable.Disabled, "HERMES_DISABLE_LAZY_INSTALLS")
	d.env["HERMES_LAZY_INSTALL_TARGET"] = d.store()
	d.ensure("search.one")
	d.env["HERMES_RUNTIME"] = filepath.Join(d.home, "none")
	d.refuses(d.manager(), "tts.voice", unavailable.NoRuntime)
}

// A version of the core that is newer than a pin is neither replaced nor hidden, and what happens to lie in the store's
// directory is nobody's wish.
func TestD48NothingIsDowngradedAndPresenceIsNoUse(t *testing.T) {
	d := newDesk(t)
	d.features[0].Specs = []string{"core-lib==1.0"}
	d.index.Add(wheels.Wheel{Name: "core-lib", Version: "1.0", Files: map[string]string{"core_lib/__init__.py": "who = 'older'\n"}})
	d.refuses(d.manager(), "search.one", unavailable.Conflict, "core-lib", "1.0", "1.5")
	flat := filepath.Join(d.store(), "voice_sdk-3.0.dist-info")
	if err := os.MkdirAll(flat, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(flat, "METADATA"), []byte("Metadata-Version: 2.1\nName: voice-sdk\nVersion: 3.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all := d.manager().Refresh(d.ctx()); len(all) > 0 || d.manager().Has(d.ctx(), "tts.voice") {
		t.Errorf("presence counts: %+v", all)
	}
	if got := d.python("import core_lib; print(core_lib.who)"); got != "core" {
		t.Errorf("Python says %q", got)
	}
}

func TestTwoFeaturesThatCannotBeThereBoth(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	before := d.digest()
	d.refuses(d.manager(), "old.one", unavailable.Conflict, "shared", "0.5", "1.0", "search.one", "old.one")
	if d.digest() != before {
		t.Error("something was published")
	}
}

func TestSomebodyIsAsked(t *testing.T) {
	d := newDesk(t)
	var asked []string
	answer := false
	m := d.manager(func(o *Options) {
		o.Confirm = func(name string, missing []string) bool {
			asked = append(asked, name+" "+strings.Join(missing, " "))
			return answer
		}
	})
	d.refuses(m, "search.one", unavailable.Declined, "user declined install at prompt")
	if d.index.Requests() > 0 || len(asked) != 1 || asked[0] != "search.one search-sdk==1.0" {
		t.Errorf("asked %q, and the index %d times", asked, d.index.Requests())
	}
	answer = true
	if _, err := m.Ensure(d.ctx(), "search.one"); err != nil {
		t.Error(err)
	}
	if _, err := m.Ensure(d.ctx(), "search.one"); err != nil || len(asked) != 2 {
		t.Errorf("%v, asked %q", err, asked)
	}
}

// A hostile wheel is fetched, and nothing of it is published.
func TestAHostileWheelIsNotPublished(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	before := d.digest()
	d.refuses(d.manager(), "bad.hostile", unavailable.Rejected, "core_lib/extra.py")
	d.refuses(d.manager(), "bad.hollow", unavailable.Incomplete, "packages still not importable")
	if d.digest() != before || d.python("import search_sdk; print(1)") != "1" {
		t.Error("the generation changed")
	}
	left, _ := filepath.Glob(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "staging", "*"))
	if len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestD45AFailureIsRememberedForAWhile(t *testing.T) {
	d := newDesk(t)
	d.index.Break("*", wheelsDown)
	d.refuses(d.manager(), "search.one", unavailable.Failed)
	requests := d.index.Requests()
	d.refuses(d.manager(), "search.one", unavailable.Failed, "a short while ago", "--retry")
	if d.index.Requests() != requests {
		t.Error("it was tried again")
	}
	d.index.Break("*", wheelsUp)
	d.refuses(d.manager(), "search.one", unavailable.Failed, "a short while ago")
	later := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(remembered + time.Minute) } }
	if _, err := d.manager(later).Ensure(d.ctx(), "search.one"); err != nil {
		t.Errorf("later: %v", err)
	}
	d.index.Break("*", wheelsDown)
	d.refuses(d.manager(), "tts.voice", unavailable.Failed)
	d.index.Break("*", wheelsUp)
	if _, err := d.manager(func(o *Options) { o.Retry = true }).Ensure(d.ctx(), "tts.voice"); err != nil {
		t.Errorf("on request: %v", err)
	}
}

// Many ask for the same and for different features at once, each with a manager of its own.
func TestD36ManyAtOnceInstallOnce(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			name := []string{"search.one", "tts.voice"}[i%2]
			if _, err := d.manager().Ensure(d.ctx(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	if got := d.python("import search_sdk, voice_sdk; print('both')"); got != "both" {
		t.Errorf("Python says %q", got)
	}
	for _, file := range []string{"search_sdk-1.0-py3-none-any.whl", "voice_sdk-3.0-py3-none-any.whl", "shared-1.0-py3-none-any.whl"} {
		if n := d.index.Hits(file); n != 1 {
			t.Errorf("%s was fetched %d times", file, n)
		}
	}
}
