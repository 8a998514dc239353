package addon

import (
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/test/wheels"
)

// withSource lists a feature whose package has no wheel, and ships its lock and that of the tools.
func (d *desk) withSource() {
	d.Helper()
	source := wheels.Source{Name: "unbuilt", Version: "1.0", Setup: "FILES = {'unbuilt.py': 'import shared\\n'}\n"}
	d.index.AddSource(source)
	d.index.Add(wheels.Backend())
	d.features = append(d.features,
		feature.Feature{Name: "stt.unbuilt", Ecosystem: "python", Specs: []string{"unbuilt==1.0"}, Probes: []string{"unbuilt"}},
		feature.Feature{Name: lock.BuildTools, Ecosystem: "python", Specs: []string{"setuptools==80.0"}})
	shared := offered()[slices.IndexFunc(offered(), func(w wheels.Wheel) bool { return w.Name == "shared" && w.Version == "1.0" })]
	d.ships(lock.Lock{Feature: "stt.unbuilt", Packages: []lock.Package{
		{Name: "shared", Version: "1.0", Hashes: []string{shared.Hash()}},
		{Name: "unbuilt", Version: "1.0", Hashes: []string{source.Hash()}, Source: true},
	}})
	d.ships(lock.Lock{Feature: lock.BuildTools, Packages: []lock.Package{{Name: "setuptools", Version: "80.0", Hashes: []string{wheels.Backend().Hash()}}}})
	d.features = d.features[:len(d.features)-1]
}

// A feature of which something has no wheel is refused before anybody is asked or anything fetched, the refusal names
// the switch, and with the switch it is there, and marked wherever it shows.
func TestD42AFeatureWithoutWheelsNeedsTheSwitch(t *testing.T) {
	d := newDesk(t)
	d.withSource()
	d.refuses(d.manager(), "stt.unbuilt", unavailable.Disabled, "unbuilt==1.0", config.BuildFromSource+"=1")
	if d.index.Requests() > 0 || d.digest() != "" || d.state("stt.unbuilt") != Unavailable {
		t.Errorf("the index was asked %d times, and it is %s", d.index.Requests(), d.state("stt.unbuilt"))
	}
	d.env[config.BuildFromSource] = "1"
	if got := d.state("stt.unbuilt"); got != Available {
		t.Errorf("with the switch it is %s", got)
	}
	d.ensure("stt.unbuilt")
	if err := d.manager().Compile(d.ctx()); err != nil {
		t.Error(err)
	}
	if got := d.python("import unbuilt; print(unbuilt.shared.n)"); got != "1" {
		t.Errorf("Python says %q", got)
	}
	status := d.manager().Status(d.ctx())
	i := slices.IndexFunc(status.Features, func(f FeatureStatus) bool { return f.Name == "stt.unbuilt" })
	if got := status.Features[i]; got.State != Installed || !slices.Equal(got.Sources, []string{"unbuilt==1.0"}) {
		t.Errorf("it is %+v", got)
	}
	bill, err := d.manager().SBOM(d.ctx())
	if err != nil || strings.Count(string(bill), "hermes:deviation") != 1 {
		t.Errorf("%s, %v", bill, err)
	}
	if _, problems, err := d.manager().Verify(d.ctx()); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	// Who switches it off again keeps what there is, whatever else comes and goes, and builds no more.
	delete(d.env, config.BuildFromSource)
	d.ensure("search.one")
	if got := d.python("import unbuilt, search_sdk; print(1)"); got != "1" {
		t.Errorf("after the switch was turned off Python says %q", got)
	}
	leftOut, err := d.manager().Rebuild(d.ctx())
	if err != nil || !strings.Contains(leftOut["stt.unbuilt"], config.BuildFromSource) {
		t.Errorf("rebuilt without the switch: %v, %v", leftOut, err)
	}
}
