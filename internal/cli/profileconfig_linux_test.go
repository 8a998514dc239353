package cli

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// homeOfTwo is a home whose own sandboxes are made by another engine than those of its profile "coder".
func homeOfTwo(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	home := t.TempDir()
	for name, text := range map[string]string{
		"config.yaml":                "terminal:\n  backend: native\n  timeout: 50\n",
		"profiles/coder/config.yaml": "terminal:\n  timeout: 7\n",
		"profiles/coder/.env":        "TERMINAL_ENV=local\n",
		"profiles/coder/SOUL.md":     "a coder\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		a, _, stderr := testApp()
		a.lookup = lookupIn(map[string]string{"HERMES_HOME": home})
		if status := a.run(context.Background(), []string{"sandbox", "prune", "--all", "--yes"}); status != 0 {
			t.Errorf("prune: %s", stderr)
		}
	})
	return home
}

// The command line and the gateway of a profile find the same sandbox for a task, however the profile is named.
func TestTheCommandLineUsesWhatTheGatewayOfTheProfileUses(t *testing.T) {
	home := homeOfTwo(t)
	for name, test := range map[string]struct{ home, args string }{
		"named-before":        {home, "-p coder sandbox exec --task t -c"},
		"named-behind":        {home, "sandbox exec -p coder --task t -c"},
		"by-its-directory":    {filepath.Join(home, "profiles", "coder"), "sandbox exec --task t -c"},
		"named-and-elsewhere": {filepath.Join(home, "profiles", "other"), "sandbox -p coder exec --task t -c"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, stderr := testApp()
			a.lookup = lookupIn(map[string]string{"HERMES_HOME": test.home})
			if status := a.run(t.Context(), append(strings.Fields(test.args), "echo "+name+" >$HOME/said")); status != 0 {
				t.Fatalf("%s: %d %s", test.args, status, stderr)
			}
			a, _, _ = testApp()
			a.lookup, a.profile = lookupIn(map[string]string{"HERMES_HOME": home}), "coder"
			g, err := a.agent()
			if err != nil {
				t.Fatal(err)
			}
			theGateways := &profileSandboxes{app: a, agent: g, log: slog.New(slog.DiscardHandler)}
			defer theGateways.close()
			boxes, err := theGateways.open()
			if err != nil {
				t.Fatal(err)
			}
			box, err := boxes.Attach(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			out := new(bytes.Buffer)
			if _, err := box.Exec(t.Context(), sandbox.Command{Line: "cat $HOME/said", Stdout: out}); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != name {
				t.Errorf("the gateway finds %q", got)
			}
		})
	}
	status, out, _ := inHome(t, home, "sandbox", "ls", "--json")
	if status != 0 || strings.Count(out, `"engine":`) != 1 || !strings.Contains(out, `"engine": "local"`) || !strings.Contains(out, `"profile": "coder"`) {
		t.Errorf("ls: %d %s", status, out)
	}
}

func TestTheDefaultProfileUsesTheHomesConfiguration(t *testing.T) {
	home := homeOfTwo(t)
	for profile, want := range map[string]struct{ engine, timeout string }{
		"":        {"native", "50s"},
		"default": {"native", "50s"},
		"coder":   {"local", "7s"},
		"nobody":  {"native", "50s"}, // which is only a name
	} {
		a, _, _ := testApp()
		a.lookup, a.profile = lookupIn(map[string]string{"HERMES_HOME": home}), profile
		c, err := a.terminal()
		if err != nil || c.Engine != want.engine || c.Timeout.String() != want.timeout || c.SandboxRoot != filepath.Join(home, "sandboxes") {
			t.Errorf("%q: %s, %s, %s, %v", profile, c.Engine, c.Timeout, c.SandboxRoot, err)
		}
	}
}

// The variables of the home count for the default profile as for its gateway, below those of the environment.
func TestTheDefaultProfileUsesTheHomesVariables(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".env"), []byte("TERMINAL_ENV=local\nTERMINAL_TIMEOUT=9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _, _ := testApp()
	a.lookup = lookupIn(map[string]string{"HERMES_HOME": home, "TERMINAL_TIMEOUT": "11"})
	if c, err := a.terminal(); err != nil || c.Engine != "local" || c.Timeout.String() != "11s" {
		t.Errorf("%s, %s, %v", c.Engine, c.Timeout, err)
	}
}

// Models that come through a gateway say themselves which task they work in.
func TestModelsNameTheirTaskAtAGateway(t *testing.T) {
	p := hermes(t, t.TempDir(), []string{"API_SERVER_KEY=of-a-model-here"}, "gateway", "run")
	address := p.address()
	for query, want := range map[string]int{"": 200, "?task=review": 200, "?task=%00": 400} {
		r, _ := http.NewRequest("POST", address+"/mcp"+query, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header = http.Header{"Authorization": {"Bearer of-a-model-here"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != want || (answer.Header.Get("Mcp-Session-Id") != "") != (want == 200) {
			t.Errorf("%q: %v, %v", query, answer, err)
			continue
		}
		answer.Body.Close()
	}
}
