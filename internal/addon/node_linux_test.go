package addon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/tarballs"
)

var (
	nodeServer = tarballs.Package{
		Name: "@m/server", Version: "1.0.0", License: "MIT", Requires: map[string]string{"dep": "^2.0.0"}, Scripts: map[string]string{"postinstall": "exit 1"},
		Files: map[string]string{"dist/index.js": "console.log(require('dep'))\n"},
	}
	nodeDep   = tarballs.Package{Name: "dep", Version: "2.1.0", License: "ISC", Files: map[string]string{"index.js": "module.exports = 'dep'\n", "fast.node": "\x7fELF"}}
	nodeOther = tarballs.Package{Name: "other", Version: "1.0.0", Files: map[string]string{"index.js": "console.log('other')\n"}}
)

// withNode gives a desk a registry and features of npm: an honest one, another one, and those that cannot be had.
func (d *desk) withNode() *tarballs.Registry {
	d.Helper()
	r := tarballs.Serve(d, nodeServer, nodeDep, nodeOther)
	d.env["PATH"] += ":" + tarballs.NPM(d)
	d.env["npm_config_registry"], d.env["npm_config_fetch_retries"] = r.URL, "0"
	d.offers("mcp.demo", "node:@m/server/dist/index.js", nodeServer, nodeDep)
	d.offers("mcp.other", "node:other/index.js", nodeOther)
	return r
}

// withoutNPM makes it a machine like the slim image, which has uv.
func (d *desk) withoutNPM() {
	d.Helper()
	without := d.TempDir()
	uv, _, _ := strings.Cut(d.env["PATH"], ":")
	if err := os.Symlink(filepath.Join(uv, "uv"), filepath.Join(without, "uv")); err != nil {
		d.Fatal(err)
	}
	d.env["PATH"] = without
}

// offers lists a feature of npm, whose anchor is the first package, and ships its lock.
func (d *desk) offers(name, entry string, packages ...tarballs.Package) {
	d.Helper()
	specs := []string{packages[0].Name + "@" + packages[0].Version}
	d.features = slices.DeleteFunc(d.features, func(f feature.Feature) bool { return f.Name == name })
	d.features = append(d.features, feature.Feature{Name: name, Ecosystem: "node", Specs: specs, Entry: entry})
	d.shipsFile(lock.TreePath("", name), tarballs.Tree(name, specs, packages...).Text())
}

// current is the generation that there is.
func (d *desk) current() store.Generation {
	d.Helper()
	p, err := d.manager().here(d.ctx())
	if err != nil {
		d.Fatal(err)
	}
	g, err := p.Current()
	if err != nil {
		d.Fatal(err)
	}
	return g
}

// node runs what a feature is started from.
func (d *desk) node(name string) string {
	d.Helper()
	now := d.current()
	f, err := d.manager().find(name)
	if err != nil {
		d.Fatal(err)
	}
	file, _ := f.NodeEntry()
	out, err := exec.CommandContext(d.ctx(), "node", filepath.Join(now.Node(name), file)).CombinedOutput()
	if err != nil {
		return "failed: " + lastLine(string(out))
	}
	return strings.TrimSpace(string(out))
}

func (d *desk) feature(name string) FeatureStatus {
	d.Helper()
	all := d.manager().Status(d.ctx()).Features
	return all[slices.IndexFunc(all, func(f FeatureStatus) bool { return f.Name == name })]
}

// Features of both worlds live in one store: installed, told of, verified, collected, taken back, removed and built again.
func TestFeaturesOfPythonAndNodeShareAStore(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	if got := d.feature("mcp.demo"); got.State != Available || got.Lock != lock.Shipped || !slices.Equal(got.Missing, []string{"@m/server@1.0.0"}) {
		t.Errorf("at first it is %+v", got)
	}
	d.ensure("search.one", "mcp.demo")
	first := d.digest()
	if d.node("mcp.demo") != "dep" || d.python("import search_sdk; print(search_sdk.answer)") != "1" {
		t.Errorf("they say %q", d.node("mcp.demo"))
	}
	if got := d.feature("mcp.demo"); got.State != Installed || !got.Wanted || !slices.Equal(got.Native, []string{"dep@2.1.0"}) || !slices.Equal(got.Scripts, []string{"@m/server@1.0.0"}) {
		t.Errorf("it is %+v", got)
	}
	bill, err := d.manager().SBOM(d.ctx())
	if err != nil || !strings.Contains(string(bill), `"purl": "pkg:npm/%40m/server@1.0.0"`) || !strings.Contains(string(bill), `"purl": "pkg:pypi/search-sdk@1.0"`) {
		t.Errorf("%s, %v", bill, err)
	}
	// Another feature of either world takes over what there is.
	asked := r.Hits("dep-2.1.0.tgz")
	d.ensure("tts.voice", "mcp.other")
	if err := d.whole(); err != nil || d.node("mcp.demo") != "dep" || d.node("mcp.other") != "other" || r.Hits("dep-2.1.0.tgz") != asked {
		t.Errorf("%v; %q and %q; asked %d times more", err, d.node("mcp.demo"), d.node("mcp.other"), r.Hits("dep-2.1.0.tgz")-asked)
	}
	if err := d.manager().Compile(d.ctx()); err != nil || d.whole() != nil || d.node("mcp.demo") != "dep" {
		t.Errorf("compiled: %v, %v", err, d.whole())
	}
	if err := d.manager().Remove(d.ctx(), "mcp.demo"); err != nil || d.manager().Has(d.ctx(), "mcp.demo") || !d.manager().Has(d.ctx(), "mcp.other") || d.whole() != nil {
		t.Errorf("removed: %v, %v", err, d.whole())
	}
	if _, err := d.manager().Rollback(d.ctx()); err != nil || d.node("mcp.demo") != "dep" || d.whole() != nil {
		t.Errorf("taken back: %v, %v", err, d.whole())
	}
	r.Break("*", tarballs.Fault{Status: 503})
	if left, err := d.manager().Rebuild(d.ctx()); err != nil || len(left) > 0 || d.node("mcp.demo") != "dep" || d.whole() != nil {
		t.Errorf("built again without a registry: %v, %v, %v", left, err, d.whole())
	}
	done, err := d.manager().Collect(d.ctx(), store.Collect{})
	if err != nil || slices.Contains(done.Stayed, store.Stayed{}) || d.whole() != nil {
		t.Errorf("collected: %+v, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "generations", first)); err == nil {
		t.Error("the first generation is still there")
	}
	if left, err := d.manager().Rebuild(d.ctx()); err != nil || len(left) > 0 {
		t.Errorf("what is needed was collected: %v, %v", left, err)
	}
}

// What was spoilt in a tree is found, and a rebuild mends it.
func TestASpoiltTreeIsFoundAndMended(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	d.ensure("mcp.demo")
	g := d.current()
	file := filepath.Join(g.Node("mcp.demo"), "dep/index.js")
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("module.exports = 'bad'\n"), 0o644), os.Chmod(file, 0o444)); err != nil {
		t.Fatal(err)
	}
	if err := d.whole(); err == nil || !strings.Contains(err.Error(), "dep/index.js: its content was changed") {
		t.Errorf("verify: %v", err)
	}
	d.refuses(d.manager(), "mcp.other", unavailable.Target, "was changed after it was installed")
	if _, err := d.manager().Rebuild(d.ctx()); err != nil || d.whole() != nil || d.node("mcp.demo") != "dep" {
		t.Errorf("%v, %v, %s", err, d.whole(), d.node("mcp.demo"))
	}
}

// What was removed from a tree keeps nothing else from being had for longer than a rebuild.
func TestAFileThatIsGoneIsNamed(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	d.ensure("mcp.demo")
	g := d.current()
	dir := filepath.Join(g.Node("mcp.demo"), "dep")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Remove(filepath.Join(dir, "index.js")), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	d.refuses(d.manager(), "search.one", unavailable.Target, "dep/index.js was removed after it was installed; rebuild the features")
	if _, err := d.manager().Rebuild(d.ctx()); err != nil || d.whole() != nil || d.node("mcp.demo") != "dep" {
		t.Errorf("%v, %v, %s", err, d.whole(), d.node("mcp.demo"))
	}
	d.ensure("search.one")
}

// A feature of npm without a shipped lock, without Node.js, or with a requirement of another kind is refused before
// anything is fetched, and nothing of the rest is lost.
func TestAFeatureOfNPMThatCannotBeHadSaysWhy(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	d.ensure("mcp.other")
	asked := r.Requests()
	d.features = append(d.features, feature.Feature{Name: "mcp.unlocked", Ecosystem: "node", Specs: []string{"dep@2.1.0"}})
	for i, spec := range []string{"dep", "dep@^2.0.0", "dep@latest", "dep@npm:other@1.0.0", "dep@file:/etc", "git+https://host/x.git", "-g@1.0.0", "dep==2.1.0"} {
		d.features = append(d.features, feature.Feature{Name: fmt.Sprintf("bad.n%d", i), Ecosystem: "node", Specs: []string{spec}})
		d.refuses(d.manager(), fmt.Sprintf("bad.n%d", i), unavailable.Unsafe, "unsafe spec")
	}
	d.refuses(d.manager(), "mcp.unlocked", unavailable.Unsupported, "no lock is shipped for mcp.unlocked")
	if got := d.feature("mcp.unlocked"); got.State != Unavailable || !strings.Contains(got.Reason, "no lock is shipped") || got.Lock != "" {
		t.Errorf("it is %+v", got)
	}
	i := slices.IndexFunc(d.features, func(f feature.Feature) bool { return f.Name == "mcp.demo" })
	d.features[i].Specs = []string{"@m/server@1.0.1"}
	d.refuses(d.manager(), "mcp.demo", unavailable.Unsupported, "made for other requirements")
	d.features[i].Specs = []string{"@m/server@1.0.0"}
	d.withoutNPM()
	d.refuses(d.manager(), "mcp.demo", unavailable.NoInstaller, "there is no Node.js", "full image")
	if got := d.feature("mcp.demo"); got.State != Unavailable || !strings.Contains(got.Reason, "Node.js") {
		t.Errorf("without Node.js it is %+v", got)
	}
	// What was installed by another image stays, and other features can be had beside it.
	d.ensure("search.one")
	if !d.manager().Has(d.ctx(), "mcp.other") || d.whole() != nil || r.Requests() != asked {
		t.Errorf("the rest is lost, or the registry was asked: %v", d.whole())
	}
}

// What npm has installed is looked at before it is published.
func TestAHostilePackageOfNPMIsNotPublished(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	d.ensure("mcp.other")
	before := d.digest()
	bundled := tarballs.Entry{Name: "package/node_modules/dep/package.json", Content: `{"name":"dep","version":"9.0.0"}`}
	hostile := map[string]tarballs.Package{
		"bundles":   {Name: "bundles", Version: "1.0.0", Files: map[string]string{"index.js": ""}, Entries: []tarballs.Entry{bundled}},
		"misnamed":  {Name: "misnamed", Version: "1.0.0", Says: "other", Files: map[string]string{"index.js": ""}},
		"rights":    {Name: "rights", Version: "1.0.0", Files: map[string]string{"index.js": ""}, Entries: []tarballs.Entry{{Name: "package/su", Content: "x", Mode: 0o6755}}},
		"backslash": {Name: "backslash", Version: "1.0.0", Files: map[string]string{"index.js": "", `a\b.js`: ""}},
	}
	for name, p := range hostile {
		r.Add(p)
		d.offers("bad."+name, "node:"+name+"/index.js", p)
		d.refuses(d.manager(), "bad."+name, unavailable.Rejected, "cannot publish what was installed")
	}
	d.offers("bad.hollow", "node:other/none.js", nodeOther)
	d.refuses(d.manager(), "bad.hollow", unavailable.Incomplete, "bad.hollow has no file other/none.js")
	if d.digest() != before || d.whole() != nil || d.node("mcp.other") != "other" {
		t.Errorf("it was published: %v", d.whole())
	}
	if got := d.feature("bad.bundles"); got.State != Failed {
		t.Errorf("it is not remembered: %+v", got)
	}
}

// A pin that was raised is another tree; the one before is there to go back to.
func TestD32APinOfNPMCanBeRaised(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	d.ensure("mcp.demo")
	raised := nodeServer
	raised.Version, raised.Files = "1.1.0", map[string]string{"dist/index.js": "console.log('raised')\n"}
	r.Add(raised)
	d.offers("mcp.demo", "node:@m/server/dist/index.js", raised, nodeDep)
	if got := d.feature("mcp.demo"); got.State != Outdated {
		t.Errorf("it is %+v", got)
	}
	if all := d.manager().Refresh(d.ctx()); len(all) != 1 || all[0].Result != "refreshed" {
		t.Errorf("%+v", all)
	}
	if got := d.node("mcp.demo"); got != "raised" {
		t.Errorf("it says %q", got)
	}
	if _, err := d.manager().Rollback(d.ctx()); err != nil || d.node("mcp.demo") != "dep" {
		t.Errorf("%v, %q", err, d.node("mcp.demo"))
	}
}

// Another interpreter has a store of its own, in which all that is wanted is built again, whoever brings it.
func TestD50FeaturesOfNPMAreRebuiltForAnotherInterpreter(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	d.ensure("mcp.demo")
	d.anotherABI()
	d.offers("mcp.demo", "node:@m/server/dist/index.js", nodeServer, nodeDep)
	r.Break("*", tarballs.Fault{Status: 503})
	if got := d.feature("mcp.demo"); got.State != Outdated || d.manager().Has(d.ctx(), "mcp.demo") {
		t.Errorf("it is %+v", got)
	}
	if left, err := d.manager(func(o *Options) { o.Offline = true }).Rebuild(d.ctx()); err != nil || len(left) > 0 {
		t.Fatalf("%v, %v", left, err)
	}
	if !d.manager().Has(d.ctx(), "mcp.demo") || d.node("mcp.demo") != "dep" || d.whole() != nil {
		t.Errorf("it says %q, %v", d.node("mcp.demo"), d.whole())
	}
}

// Where a feature of npm cannot be had, because an image has no Node.js or a registry is down, all others can.
func TestAFeatureOfNPMKeepsNobodyFromAnother(t *testing.T) {
	d := newDesk(t)
	r := d.withNode()
	d.ensure("search.one", "mcp.demo")
	raised := nodeServer
	raised.Version = "1.1.0"
	d.offers("mcp.demo", "node:@m/server/dist/index.js", raised, nodeDep)
	r.Break("*", tarballs.Fault{Status: 503})
	done, err := d.manager().Ensure(d.ctx(), "tts.voice")
	if err != nil || !strings.Contains(done.LeftOut["mcp.demo"], "503") || d.whole() != nil {
		t.Errorf("%+v, %v, %v", done, err, d.whole())
	}
	if got := d.feature("mcp.demo"); got.State != Outdated || !got.Wanted {
		t.Errorf("it is %+v", got)
	}
	// Who builds everything again wants all of it.
	if _, err := d.manager().Rebuild(d.ctx()); err == nil {
		t.Error("a rebuild has lost a feature")
	}
	r.Add(raised)
	r.Break("*", tarballs.Fault{})
	d.ensure("mcp.demo")
	d.anotherABI()
	d.offers("mcp.demo", "node:@m/server/dist/index.js", raised, nodeDep)
	d.withoutNPM()
	left, err := d.manager().Rebuild(d.ctx())
	if err != nil || !strings.Contains(left["mcp.demo"], "Node.js") || len(left) != 1 || d.state("search.one") != Installed || !d.feature("mcp.demo").Wanted {
		t.Errorf("without Node.js: %v, %v", left, err)
	}
}
