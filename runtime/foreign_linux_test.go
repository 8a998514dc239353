package pyruntime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/test/apis"
	"hermes.example/hermes/test/sealed"
)

// whole is the runtime that `make runtime` has built.
func whole(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../.cache/runtime")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err != nil {
		t.Skip("it is not built: run make runtime")
	}
	return root
}

// The official client, which holds results against the schemas of their tools.
func TestTheOfficialClientUnderstandsTheHost(t *testing.T) {
	client := sealed.Find(t, whole(t)).Python()
	server := apis.New(t)
	s := newStore(t)
	s.publish(apis.StandIns())
	script, err := filepath.Abs("testdata/client.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(client, "-I", script, s.runtime.Python(), "-I", "-m", "hermes_host", "adapter", "firecrawl")
	cmd.Env = append(s.env, "FIRECRAWL_API_KEY="+apis.Key, "FIRECRAWL_API_URL="+server.URL, "HERMES_ADDON_GENERATION=none")
	out, err := cmd.CombinedOutput()
	want := "2025-11-25 search.firecrawl\n" +
		"web_search web_extract\n" +
		"Result 1 of cats, Result 2 of cats\n" +
		"True cannot call web_search: \"query\" is missing\n" +
		"True Firecrawl refuses the request with status 418: "
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s", err, out)
	}
}

// installed are features from the index, with what the locks say, and how to start a process that has them.
func installed(t *testing.T, features ...string) func(t *testing.T, env []string, arguments ...string) *hosted {
	t.Helper()
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") != "1" {
		t.Skip("it uses the network: make test-network")
	}
	root, home := whole(t), t.TempDir()
	t.Cleanup(func() { sealed.Remove(home) })
	set := map[string]string{"HERMES_RUNTIME": root, "HERMES_HOME": home}
	lookup := func(name string) (string, bool) {
		if value, ours := set[name]; ours {
			return value, true
		}
		return os.LookupEnv(name)
	}
	manager := addon.New(addon.Options{Lookup: lookup, Environ: os.Environ()})
	for _, name := range features {
		if _, err := manager.Ensure(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return func(t *testing.T, env []string, arguments ...string) *hosted {
		t.Helper()
		cmd := exec.Command(sealed.Find(t, root).Python(), append([]string{"-I", "-m", "hermes_host"}, arguments...)...)
		cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + home, "HERMES_HOME=" + home}, env...)
		return start(t, cmd)
	}
}

func TestAdaptersWithTheRealSDKs(t *testing.T) {
	var features []string
	for _, a := range adapters {
		features = append(features, a.feature)
	}
	host := installed(t, features...)
	tryAdapters(t, func(t *testing.T, adapter string, env []string) *hosted {
		t.Helper()
		return host(t, env, "adapter", adapter)
	})
}

// Servers of others, as they come from the index.
func TestReadyServersServe(t *testing.T) {
	host := installed(t, "mcp.git", "mcp.time")
	for _, c := range []struct {
		module, tool string
		arguments    map[string]any
		answers      string
	}{
		{"mcp_server_time", "convert_time", map[string]any{"source_timezone": "UTC", "target_timezone": "Asia/Tokyo", "time": "12:00"}, "21:00"},
		{"mcp_server_git", "git_status", map[string]any{"repo_path": repository(t)}, "No commits yet"},
	} {
		t.Run(c.module, func(t *testing.T) {
			h := host(t, nil, "module", c.module)
			h.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
			h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			if m := h.ask("tools/list", map[string]any{}); !strings.Contains(string(m.Result), `"`+c.tool+`"`) {
				t.Errorf("its tools are %s", m.Result)
			}
			if r := h.call(c.tool, c.arguments); r.Failed || !strings.Contains(r.text(), c.answers) {
				t.Errorf("it answers %v; on standard error %s", r, h.said)
			}
		})
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("git", "init", "--quiet", dir)
	cmd.Env = slices.Concat(os.Environ(), []string{"GIT_CONFIG_GLOBAL=/dev/null"})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("there is no git: %v: %s", err, out)
	}
	return dir
}
