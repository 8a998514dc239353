package bench

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/mcp"
	"hermes.example/hermes/sandbox"
)

// models measures what MCP adds to a command: the same line in the same sandbox, by a session and by the tool "terminal".
func (r *runner) models() error {
	lookup := func(name string) (string, bool) {
		if name == "HERMES_HOME" || name == "HOME" {
			return r.home, true
		}
		return "", false
	}
	boxes, err := configured.OpenSandboxes(configured.Options{Lookup: lookup, Profile: "default", Engine: "native", Serves: true})
	if err != nil {
		return err
	}
	defer boxes.Close()
	tools, err := boxes.Config().Tools()
	if err != nil {
		return err
	}
	door := mcp.New(mcp.Options{Sandboxes: boxes, Task: "models", Home: r.home, Settings: tools})
	ended, cancel := context.WithCancel(r.ctx)
	cancel() // nobody is waited for at the end
	defer door.Shutdown(ended)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- door.ServeLines(r.ctx, in, out) }()
	defer func() {
		toServer.Close()
		fromServer.Close()
		<-served
	}()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(r.ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		return err
	}
	line := "true"
	terminal := func() error {
		result, err := client.CallTool(r.ctx, &sdk.CallToolParams{Name: "terminal", Arguments: map[string]any{"command": line}})
		if err == nil && result.IsError {
			err = errors.New("the tool says that it failed")
		}
		return err
	}
	session := func() error {
		return boxes.Use(r.ctx, "models", func(box *sandbox.Sandbox) error {
			return succeeded(box.Session("bench").Exec(r.ctx, sandbox.Command{Line: line}))
		})
	}
	m, err := r.interleave(r.Rounds, session, terminal)
	if err != nil {
		return err
	}
	r.report.figure("MCP `terminal` above the sandbox's own command", "ms", m[1]-m[0], mcpBudget, false, fmt.Sprintf("%.2f ms and %.2f ms", m[1], m[0]))
	return nil
}

// mcpBudget is how many milliseconds MCP may add to a command.
const mcpBudget = 3
