package backend

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/tarballs"
)

// withNode gives a desk a registry, and a feature of npm that is a server.
func (d *desk) withNode() {
	d.Helper()
	source, err := os.ReadFile("testdata/server.js")
	if err != nil {
		d.Fatal(err)
	}
	server := tarballs.Package{Name: "@m/server", Version: "1.0.0", Requires: map[string]string{"dep": "^2.0.0"}, Files: map[string]string{"dist/index.js": string(source)}}
	dep := tarballs.Package{Name: "dep", Version: "2.1.0", Files: map[string]string{"index.js": "module.exports = 'dep 2.1.0'\n"}}
	d.env["npm_config_registry"], d.env["npm_config_fetch_retries"] = tarballs.Serve(d, server, dep).URL, "0"
	d.env["PATH"] += ":" + tarballs.NPM(d)
	f := feature.Feature{Name: "node.server", Ecosystem: "node", Specs: []string{"@m/server@1.0.0"}, Entry: "node:@m/server/dist/index.js",
		Args: []string{"{data}"}, Credentials: []string{"API_KEY"}}
	d.features = append(d.features, f)
	shipped := filepath.Join(d.locks, lock.TreePath("", f.Name))
	if err := os.MkdirAll(filepath.Dir(shipped), 0o755); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(shipped, tarballs.Tree(f.Name, f.Specs, server, dep).Text(), 0o644); err != nil {
		d.Fatal(err)
	}
}

func TestABackendOfNode(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	p := d.pool()
	answer := d.asks(p, "node.server", "where", nil, map[string]string{"API_KEY": secret})
	file, _ := answer["file"].(string)
	if !strings.HasPrefix(file, generations(d)) || answer["dep"] != "dep 2.1.0" || answer["key"] != secret {
		t.Errorf("%v", answer)
	}
	if args := string(marshal(answer["argv"])); args != `["`+filepath.Join(d.home, "addons", "node.server")+`"]` {
		t.Errorf("%s", args)
	}
}

// A feature that is there cannot be started where there is no Node.js any more, and that is said.
func TestABackendOfNodeWithoutNode(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	if _, err := d.addons().Ensure(d.ctx(), "node.server"); err != nil {
		t.Fatal(err)
	}
	d.env["PATH"] = t.TempDir()
	_, err := d.pool().Tools(d.ctx(), "node.server", nil)
	if !errors.Is(err, unavailable.NoInstaller) || !strings.Contains(err.Error(), "there is no Node.js") {
		t.Error(err)
	}
}
