package addon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/unavailable"
)

// withoutNode takes Node.js away from the machine.
func (d *desk) withoutNode() {
	d.Helper()
	without := d.TempDir()
	uv, _, _ := strings.Cut(d.env["PATH"], ":")
	if err := os.Symlink(filepath.Join(uv, "uv"), filepath.Join(without, "uv")); err != nil {
		d.Fatal(err)
	}
	d.env["PATH"] = without
}

// Where Node.js is gone, what it brought is left out of a store that is built anew, and stays wanted: it is in nobody's way.
func TestWithoutNodeOtherFeaturesAreRebuilt(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	path := d.env["PATH"]
	d.ensure("mcp.demo", "search.one")
	d.anotherABI()
	d.offers("mcp.demo", "node:@m/server/dist/index.js", nodeServer, nodeDep)
	d.withoutNode()
	done, err := d.manager().Ensure(d.ctx(), "tts.voice")
	if err != nil || !strings.Contains(done.LeftOut["mcp.demo"], "Node.js") {
		t.Fatalf("%+v, %v", done, err)
	}
	if left, err := d.manager().Rebuild(d.ctx()); err != nil || !strings.Contains(left["mcp.demo"], "Node.js") {
		t.Errorf("%v, %v", left, err)
	}
	if err := d.manager().Remove(d.ctx(), "tts.voice"); err != nil || !d.manager().Has(d.ctx(), "search.one") {
		t.Errorf("%v", err)
	}
	d.env["PATH"] = path
	if got := d.feature("mcp.demo"); got.State != Outdated || !got.Wanted {
		t.Errorf("it is %+v", got)
	}
	d.ensure("mcp.demo")
	if d.node("mcp.demo") != "dep" || d.whole() != nil {
		t.Errorf("%s, %v", d.node("mcp.demo"), d.whole())
	}
}

// What was removed from a tree keeps nothing else from being had for longer than a rebuild.
func TestAFileThatIsGoneIsNamed(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	d.ensure("mcp.demo")
	p, err := d.manager().here(d.ctx())
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Current()
	if err != nil {
		t.Fatal(err)
	}
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
