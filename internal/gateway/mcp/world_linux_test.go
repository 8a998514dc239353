package mcp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/sandbox"
)

// world is a door on sandboxes of a home of its own.
type world struct {
	t     *testing.T
	door  *Door
	boxes *configured.Sandboxes
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	home := t.TempDir()
	run, err := os.MkdirTemp("", "hermes-mcp-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	lookup := func(name string) (string, bool) {
		value, found := map[string]string{"HERMES_HOME": filepath.Join(home, "home"), "HOME": home}[name]
		return value, found
	}
	boxes, err := configured.OpenSandboxes(configured.Options{Lookup: lookup, Profile: "default", Engine: "native", Serves: true})
	if err != nil {
		t.Skip(err)
	}
	tools, err := boxes.Config().Tools()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Sandboxes: boxes, Task: "model", Home: boxes.Home(), Settings: tools}
	if change != nil {
		change(&o)
	}
	w := &world{t: t, door: New(o), boxes: boxes}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		gone, stop := context.WithCancel(ctx)
		stop()
		w.door.Shutdown(gone)
		if _, err := boxes.Manager().Prune(ctx, boxes.Home(), true); err != nil {
			t.Error(err)
		}
		if err := boxes.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// client is one that speaks to the door.
type client struct {
	*mcp.ClientSession
	t      *testing.T
	vanish func() // closes its lines without a word
	served chan error

	mu       sync.Mutex
	progress []string
	logged   []string
}

// connect lets a client of the protocol's library in, by lines.
func (w *world) connect() *client {
	w.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &client{t: w.t, served: make(chan error, 1)}
	c.vanish = sync.OnceFunc(func() { toServer.Close(); fromServer.Close() })
	go func() {
		c.served <- w.door.ServeLines(context.Background(), in, out)
		out.Close()
	}()
	c.open(&mcp.IOTransport{Reader: fromServer, Writer: toServer})
	w.t.Cleanup(c.vanish)
	return c
}

func (c *client) open(t mcp.Transport) {
	c.t.Helper()
	inner := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, r.Params.Message)
		},
		//lint:ignore SA1019 that clients are told so is what is tested
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			text, _ := json.Marshal(r.Params.Data)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.logged = append(c.logged, string(text))
		},
	})
	var err error
	if c.ClientSession, err = inner.Connect(context.Background(), t, nil); err != nil {
		c.t.Fatal(err)
	}
}

// answer is a tool's.
type answer struct {
	failed bool
	texts  []string
	out    map[string]any
}

func (c *client) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("p")
	result, err := c.CallTool(ctx, params)
	if err != nil {
		return answer{}, err
	}
	a := answer{failed: result.IsError}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			a.texts = append(a.texts, text.Text)
		}
	}
	a.out, _ = result.StructuredContent.(map[string]any)
	return a, nil
}

// run runs a line in the terminal and returns what it prints.
func (c *client) run(line string) string {
	c.t.Helper()
	a, err := c.call(c.t.Context(), "terminal", map[string]any{"command": line})
	if err != nil || a.failed {
		c.t.Errorf("%s: %v, %v", line, a, err)
		return ""
	}
	text, _ := a.out["output"].(string)
	return strings.TrimSpace(text)
}

// sleepers are the processes of the world's sandbox that sleep so long.
func (w *world) sleepers(seconds string) string {
	w.t.Helper()
	var out strings.Builder
	err := w.boxes.Use(w.t.Context(), "model", func(box *sandbox.Sandbox) error {
		_, err := box.Exec(w.t.Context(), sandbox.Command{Line: "grep -lsa '^sl[e]ep." + seconds + "' /proc/[0-9]*/cmdline | wc -l", Stdout: &out})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// until waits for what is to happen by itself.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !happened(); {
		select {
		case <-end:
			t.Fatalf("it does not happen: %s", what)
		case <-tick.C:
		}
	}
}

// sandboxRun runs a line in the world's sandbox, beside the door.
func (w *world) sandboxRun(line string) {
	w.t.Helper()
	err := w.boxes.Use(w.t.Context(), "model", func(box *sandbox.Sandbox) error {
		_, err := box.Exec(w.t.Context(), sandbox.Command{Line: line})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
