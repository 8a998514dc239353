// Package clients tests the doors with programs that are not ours: "hermes mcp" with the official clients for TypeScript, in
// both of their generations, and Python, the Inspector's command line, and curl, and every configuration of docs/mcp.md;
// the document of the HTTP API with a judge of such. scripts/clients.sh installs them. The program is built once and
// started as agents start it.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/program"
)

// bound is how long one client may take before it counts as a hang.
const bound = 2 * time.Minute

var (
	binDir   string // where hermes is
	notBuilt string // why it could not be built
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if notBuilt = program.Missing(); notBuilt != "" {
		return m.Run()
	}
	dir, remove, err := program.Build()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer remove()
	binDir = dir
	return m.Run()
}

// world is a test's own home, in which hermes is called.
type world struct {
	t    *testing.T
	work string
	env  []string
}

const key = "0123456789abcdef0123"

func newWorld(t *testing.T) *world {
	t.Helper()
	if notBuilt != "" {
		t.Skip(notBuilt)
	}
	dir := t.TempDir()
	run, err := os.MkdirTemp("", "hermes-clients-run-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	w := &world{t: t, work: filepath.Join(dir, "work")}
	for _, d := range []string{w.work, filepath.Join(dir, "user")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{"PATH=" + binDir + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "user"), "HERMES_HOME=" + filepath.Join(dir, "home"),
		"XDG_RUNTIME_DIR=" + run, "LANG=C.UTF-8", "HERMES_RUNTIME=" + filepath.Join(dir, "none"), "API_SERVER_KEY=" + key, "HERMES_ALLOW_ROOT_GATEWAY=1"}
	t.Cleanup(func() {
		if out, err := w.command("hermes", "sandbox", "prune", "--all", "--yes").CombinedOutput(); err != nil {
			t.Errorf("prune: %v\n%s", err, out)
		}
	})
	return w
}

// command prepares a program of this world.
func (w *world) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	w.t.Cleanup(cancel)
	if name == "hermes" {
		name = filepath.Join(binDir, "hermes")
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.work, w.env, 5*time.Second
	return cmd
}

// serve serves MCP over HTTP as long as the test lasts, and returns where.
func (w *world) serve(args ...string) string {
	w.t.Helper()
	cmd := w.command("hermes", args...)
	var log lockedBuffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			w.t.Errorf("%q ended with %v:\n%s", args, err, log.String())
		}
	})
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, rest, found := strings.Cut(log.String(), "address="); found {
			address, _, whole := strings.Cut(rest, " ")
			if whole {
				return "http://" + address
			}
		}
	}
	w.t.Fatalf("%q does not listen:\n%s", args, log.String())
	return ""
}

// clients is where the clients of npm are installed.
func clients(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".cache", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		t.Skip("the MCP clients are not installed: run scripts/clients.sh .cache/clients")
	}
	return dir
}

// script copies a program of testdata beside the modules that it imports.
func script(t *testing.T, name, to string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(to, "*-"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file.Name()) })
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// step is a line of what a client says.
type step struct {
	Step         string
	Server       string
	Instructions bool
	Names        []string
	ReadOnly     []string
	Error        bool
	Text         string
	Told         []string
	How          string
	Remaining    string
	Log, State   string
	Out          struct {
		Output   string
		ExitCode int `json:"exit_code"`
		Content  string
	}
}

// agent runs a client and checks all that it says.
func (w *world) agent(name string, args ...string) {
	w.t.Helper()
	cmd := w.command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	steps := make(map[string]step)
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		var s step
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			w.t.Errorf("it says %q", line)
		}
		steps[s.Step] = s
	}
	if err != nil {
		w.t.Fatalf("%v after %d steps:\n%s", err, len(steps), stderr.String())
	}
	for what, holds := range map[string]bool{
		"connected":        steps["connected"].Server == "hermes" && steps["connected"].Instructions,
		"tools":            slices.Equal(steps["tools"].Names, []string{"list_files", "patch", "process", "read_file", "search_files", "terminal", "web_extract", "web_search", "write_file"}),
		"read-only tools":  slices.Equal(steps["tools"].ReadOnly, []string{"list_files", "read_file", "search_files", "web_extract", "web_search"}),
		"session":          steps["session"].Out.Output == "/tmp green\n",
		"failing":          !steps["failing"].Error && steps["failing"].Out.ExitCode == 3 && steps["failing"].Out.Output == "no\n",
		"progress":         len(steps["progress"].Told) > 0 && steps["progress"].Told[0] == "begun",
		"cancelled":        steps["cancelled"].How == "given up" && steps["cancelled"].Remaining == "0",
		"files":            strings.Contains(steps["files"].Out.Content, "three") && !strings.Contains(steps["files"].Out.Content, "two"),
		"refused":          steps["refused"].Error && strings.Contains(steps["refused"].Text, "a.txt"),
		"process":          steps["process"].Log == "up\n" && steps["process"].State == "exited",
		"unknown argument": steps["unknown argument"].Error && strings.Contains(steps["unknown argument"].Text, "comand"),
	} {
		if !holds {
			w.t.Errorf("%s:\n%s\n%s", what, out, stderr.String())
		}
	}
}

func TestTypeScriptClients(t *testing.T) {
	t.Parallel()
	dir := clients(t)
	program := script(t, "client.mjs", dir)
	for _, sdk := range []string{"1", "2"} {
		t.Run("sdk "+sdk+" stdio", func(t *testing.T) {
			t.Parallel()
			newWorld(t).agent("node", program, sdk, "stdio", "hermes", "mcp")
		})
		t.Run("sdk "+sdk+" http", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agent("node", program, sdk, "http", w.serve("mcp", "--http", "127.0.0.1:0")+"/mcp", key)
		})
		t.Run("sdk "+sdk+" gateway", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.env = append(w.env, "API_SERVER_PORT=0", "HERMES_GATEWAY_NO_SUPERVISE=1")
			w.agent("node", program, sdk, "http", w.serve("gateway", "run")+"/mcp", key)
		})
	}
}

// python is an interpreter that has the official client.
func python(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", ".cache", "runtime", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(program, "-c", "import mcp").Run(); err != nil {
		t.Skip("the Python runtime, which has the official client, is not built: run make runtime")
	}
	return program
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	program := python(t)
	file, err := filepath.Abs(filepath.Join("testdata", "client.py"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		newWorld(t).agent(program, file, "stdio", "hermes", "mcp")
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.agent(program, file, "http", w.serve("mcp", "--http", "127.0.0.1:0")+"/mcp", key)
	})
}

func TestInspector(t *testing.T) {
	t.Parallel()
	inspector := filepath.Join(clients(t), "node_modules", ".bin", "mcp-inspector-cli")
	w := newWorld(t)
	url := w.serve("mcp", "--http", "127.0.0.1:0") + "/mcp"
	for name, server := range map[string][]string{
		"stdio": {filepath.Join(binDir, "hermes"), "mcp"},
		"http":  {url, "--transport", "http", "--header", "Authorization: Bearer " + key},
	} {
		inspect := func(args ...string) string {
			cmd := w.command("node", slices.Concat([]string{inspector, "--cli"}, server, args)...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %q: %v\n%s", name, args, err, out)
			}
			return string(out)
		}
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal([]byte(inspect("--method", "tools/list")), &list); err != nil || len(list.Tools) < 9 {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		var called struct {
			StructuredContent struct{ Output string }
		}
		out := inspect("--method", "tools/call", "--tool-name", "terminal", "--tool-arg", "command=echo $((6*7))")
		if err := json.Unmarshal([]byte(out), &called); err != nil || called.StructuredContent.Output != "42\n" {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}
