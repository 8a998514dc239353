package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/client"
)

// apiPage shows the API by commands that need a gateway.
const apiPage = "api.md"

// apiKey is that of the gateways here, and documented where the pages say that one listens.
const (
	apiKey     = "0123456789abcdef-test"
	documented = "http://127.0.0.1:8642"
)

// gateway runs one of the world until the test ends, and returns its address. The world's commands know its key.
func (w *world) gateway() string {
	w.t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := port.Addr().String()
	port.Close()
	_, number, _ := strings.Cut(address, ":")
	w.env = append(w.env, "API_SERVER_KEY="+apiKey, "API_SERVER_PORT="+number, "HERMES_ALLOW_ROOT_GATEWAY=1")
	cmd := w.command("gateway", "run")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the gateway ended with %v: %s", err, said.String())
		}
	})
	eventually(w.t, "the gateway answers", func() bool {
		answer, err := http.Get("http://" + address + "/health")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return "http://" + address
}

// Every command of the page about the API is run, in order, against one gateway, and has to say what the page says.
func TestAPIPageIsTrue(t *testing.T) {
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	who := ordinary // a gateway is nobody's who has all rights
	w := newWorld(t, who)
	address := w.gateway()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", apiPage))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "console" {
			continue
		}
		for _, s := range transcript(m[2]) {
			found++
			began := time.Now()
			out, status := w.shell(strings.ReplaceAll(s.command, documented, address))
			if status != s.status || !s.pattern().MatchString(out) {
				t.Errorf("%s\nsays (status %d)\n%s\nthe page says (status %d)\n%s", s.command, status, out, s.status, strings.Join(s.output, "\n"))
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s\ntook %v", s.command, took)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d commands were found", found)
	}
	// What it made is what the command line knows.
	if list := w.must("sandbox", "ls"); !strings.Contains(list, "build") {
		t.Errorf("the command line does not know the sandbox:\n%s", list)
	}
}

// The program in Go that the page shows is built and run.
func TestAPIPageInGo(t *testing.T) {
	goProgram, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	w := newWorld(t, nil)
	address := w.gateway()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", apiPage))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "go" {
			continue
		}
		found++
		program := w.write("main.go", "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n\n\t\"hermes.example/hermes/client\"\n)\n\nfunc main() {\nctx := context.Background()\n"+
			strings.ReplaceAll(m[2], documented, address)+"}\n")
		cmd := exec.CommandContext(t.Context(), goProgram, "run", program) // from here, whose module has the package
		cmd.Env = append(os.Environ(), "API_SERVER_KEY="+apiKey)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "hello from Go\n3 exit\n" {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if found == 0 {
		t.Error("the page has no Go")
	}
}

// A feature is installed with progress and called through a gateway in a process of its own.
func TestAddonsThroughTheAPI(t *testing.T) {
	b := withBackends(t, newWorld(t, ordinary))
	c, err := client.New(b.gateway(), apiKey, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	state := func() string {
		list, err := c.Addons(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Addons, func(a client.Addon) bool { return a.Name == "mcp.time" })
		return list.Addons[i].State
	}
	if s := state(); s != "available" {
		t.Errorf("before: %s", s)
	}
	var phases []string
	done, err := c.EnsureAddon(ctx, "mcp.time", func(p client.AddonProgress) { phases = append(phases, p.Phase) })
	if err != nil || !done.Installed || !slices.Contains(phases, "publishing") {
		t.Fatalf("%+v, %v, %v", done, phases, err)
	}
	if done, err := c.EnsureAddon(ctx, "mcp.time", nil); err != nil || done.Installed {
		t.Errorf("again: %+v, %v", done, err)
	}
	if s := state(); s != "installed" {
		t.Errorf("afterwards: %s", s)
	}
	tools, err := c.Tools(ctx, "mcp.time")
	if err != nil || !slices.ContainsFunc(tools.Tools, func(t client.Tool) bool { return t.Name == "tell" && len(t.Input) > 0 }) {
		t.Errorf("%+v, %v", tools, err)
	}
	for range 2 {
		r, err := c.Call(ctx, "mcp.time", "tell", map[string]any{"a": "ä"})
		var told struct{ Arguments map[string]any }
		if err != nil || r.Failed || r.Feature != "mcp.time" || json.Unmarshal(r.Structured, &told) != nil || told.Arguments["a"] != "ä" {
			t.Errorf("%+v, %s, %v", r, r.Structured, err)
		}
	}
	// search means what the configuration chooses.
	if r, err := c.Call(ctx, "search", "web_search", map[string]any{"query": "x"}); err != nil || r.Feature != "search.ddgs" {
		t.Errorf("search: %+v, %v", r, err)
	}
	for feature, code := range map[string]client.Code{"no.such": client.CodeNotFound, "tts.edge": client.CodeUnavailable} {
		var refused *client.Error
		if _, err := c.EnsureAddon(ctx, feature, nil); !errors.As(err, &refused) || refused.Code != code || strings.Contains(refused.Detail, "\n") {
			t.Errorf("%s: %v", feature, err)
		}
	}
}
