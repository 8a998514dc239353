package e2e

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// model is a client of "hermes mcp", as an agent's program is one.
type model struct {
	*mcp.ClientSession
	t   *testing.T
	cmd *exec.Cmd

	mu       sync.Mutex
	changes  int
	progress []string
}

// connect starts "hermes mcp" and speaks to it.
func (w *world) connect(args ...string) *model {
	w.t.Helper()
	m := &model{t: w.t, cmd: w.command(append([]string{"mcp"}, args...)...)}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.changes++
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.progress = append(m.progress, r.Params.Message)
		},
	})
	var err error
	if m.ClientSession, err = client.Connect(w.t.Context(), &mcp.CommandTransport{Command: m.cmd}, nil); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { m.Close() })
	return m
}

func (m *model) names() (names []string) {
	m.t.Helper()
	list, err := m.ListTools(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// call calls a tool and returns its text and what it is as an object.
func (m *model) call(tool string, arguments map[string]any) (text string, object map[string]any, failed bool) {
	m.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(1)
	result, err := m.CallTool(m.t.Context(), params)
	if err != nil {
		m.t.Fatalf("%s: %v", tool, err)
	}
	if len(result.Content) > 0 {
		if c, ok := result.Content[0].(*mcp.TextContent); ok {
			text = c.Text
		}
	}
	object, _ = result.StructuredContent.(map[string]any)
	return text, object, result.IsError
}

func TestMCPToolsOfAddonsAppearWhenTheyAreInstalled(t *testing.T) {
	w := newWorld(t, nil)
	b := withBackends(t, w)
	m := w.connect()
	if names := m.names(); !slices.Contains(names, "web_search") || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "__") }) {
		t.Errorf("at first there are %q", names)
	}
	_, found, failed := m.call("web_search", map[string]any{"query": "cats"})
	if failed || found["backend"] != "search.ddgs" {
		t.Errorf("a search: %v", found)
	}
	m.mu.Lock()
	if !slices.ContainsFunc(m.progress, func(s string) bool { return strings.HasPrefix(s, "search.ddgs: ") }) {
		t.Errorf("of the installation is told: %q", m.progress)
	}
	m.mu.Unlock()
	if text, _, failed := m.call("web_extract", map[string]any{"urls": []string{"https://example.org"}}); !failed || text == "" {
		t.Errorf("what its backend cannot do: %q, %v", text, failed)
	}
	b.must("addon", "ensure", "mcp.time") // by another process
	for end := time.Now().Add(40 * time.Second); !slices.Contains(m.names(), "mcp_time__tell"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are only %q", m.names())
		}
	}
	m.mu.Lock()
	if m.changes == 0 {
		t.Error("the client was not told that there are other tools")
	}
	m.mu.Unlock()
	if names := m.names(); slices.Contains(names, "search_ddgs__web_search") {
		t.Errorf("the web is there twice: %q", names)
	}
	if _, told, failed := m.call("mcp_time__tell", map[string]any{"a": "ä"}); failed || told["arguments"].(map[string]any)["a"] != "ä" {
		t.Errorf("its answer: %v", told)
	}
	if text, _, failed := m.call("mcp_time__refuse", nil); !failed || !strings.Contains(text, "refused") {
		t.Errorf("what it refuses: %q, %v", text, failed)
	}
	if text, _, failed := m.call("mcp_time__crash", nil); !failed || !strings.Contains(text, "what it said last") {
		t.Errorf("when it crashes: %q, %v", text, failed)
	}
	b.must("addon", "remove", "mcp.time")
	for end := time.Now().Add(40 * time.Second); slices.Contains(m.names(), "mcp_time__tell"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its tools stay when it is gone")
		}
	}
}

// Whoever uses the sandbox finds what the model did, and the other way round.
func TestMCPAndTheCommandLineShareTheSandbox(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		m := w.connect("--task", "shared")
		if _, out, failed := m.call("terminal", map[string]any{"command": "echo by the model >/workspace/a"}); failed {
			t.Errorf("%v", out)
		}
		if out := w.must("sandbox", "exec", "--task", "shared", "--", "cat", "/workspace/a"); out != "by the model\n" {
			t.Errorf("the command line reads %q", out)
		}
		w.write("b", "of the host\n")
		here := w.connect("--here")
		if _, out, failed := here.call("terminal", map[string]any{"command": "cat b; echo back >c"}); failed || out["output"] != "of the host\n" {
			t.Errorf("--here: %v", out)
		}
		if out := w.must("sandbox", "ls"); !strings.Contains(out, "here-work-") {
			t.Errorf("a directory has no task of its own:\n%s", out)
		}
	})
}

func TestMCPClientThatIsKilledLeavesNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.write(filepath.Join(w.home, "config.yaml"), "terminal:\n  container_persistent: false\n")
	cmd := w.command("mcp", "--task", "gone")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"sleep 7171 & sleep 7171; wait"}}}`+"\n"+
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"process","arguments":{"action":"start","command":"sleep 7172"}}}`+"\n")
	eventually(t, "its commands run", func() bool {
		return len(running(t, "sleep", "7171")) == 2 && len(running(t, "sleep", "7172")) == 1
	})
	in.Close() // as the kernel does for a client that is killed
	out.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if left := append(running(t, "sleep", "7171"), running(t, "sleep", "7172")...); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if list := w.must("sandbox", "ls", "--json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("sandboxes are left: %s", list)
	}
}

func TestMCPEndsWhenItIsAskedTo(t *testing.T) {
	w := newWorld(t, nil)
	cmd := w.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, `"result":{}`) {
		t.Errorf("%q, %v", line, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestMCPUsage(t *testing.T) {
	w := newWorld(t, nil)
	w.env = append(w.env, "HERMES_ALLOW_ROOT_GATEWAY=1")
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"mcp --engine none":                    {2, "none"},
		"mcp extra":                            {2, "extra"},
		"mcp --http nowhere:x":                 {2, "127.0.0.1:8700"},
		"mcp --http 127.0.0.1:0":               {78, "API_SERVER_KEY"},
		"mcp --http 0.0.0.0:0":                 {78, "API_SERVER_KEY"},
		"-p nobody mcp":                        {78, "nobody"},
		"mcp --here --task x --engine docker2": {2, "docker2"},
	} {
		if r := w.hermes(strings.Fields(line)...); r.code != want.code || !oneLine(r.stderr) || !strings.Contains(r.stderr, want.says) || r.stdout != "" {
			t.Errorf("%s: %v", line, r)
		}
	}
	cmd := w.command("mcp")
	cmd.Env = append(cmd.Env, "TERMINAL_ENV=nothing")
	if r := w.finish(cmd); r.code != 78 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "nothing") {
		t.Errorf("a backend that there is not: %v", r)
	}
}
