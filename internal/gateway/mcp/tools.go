package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/toolbox"
	"hermes.example/hermes/sandbox"
)

// The kinds of tools, as clients tell them apart before they ask a person.
var (
	reads    = mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	destroys = mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)}
	rewrites = mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: new(false)}
	asks     = mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(true)}
)

// addTools lists what the toolbox has.
func (d *Door) addTools() {
	add(d, "terminal", "Run a command", destroys,
		"Runs a shell command in the sandbox and waits for it. Directory, exported variables, functions and aliases last from one call to the next. "+
			"Long output is cut in the middle and kept whole in a file. For servers, watchers and long work set background.",
		func(c call, in toolbox.TerminalInput) (toolbox.TerminalOutput, error) {
			return c.tools.Terminal(c.ctx, in, c.commandProgress())
		})
	add(d, "process", "Look after background processes", destroys,
		"Starts and looks after commands that run in the background of the sandbox: start, list, poll (its state and last lines), log, wait, kill, write (to its standard input).",
		func(c call, in toolbox.ProcessInput) (toolbox.ProcessOutput, error) {
			return c.tools.Process(c.ctx, in)
		})
	add(d, "read_file", "Read a file", reads,
		"Reads a text file of the sandbox, with line numbers, a part at a time.",
		func(c call, in toolbox.ReadFileInput) (toolbox.ReadFileOutput, error) {
			return c.tools.ReadFile(c.ctx, in)
		})
	add(d, "write_file", "Write a file", rewrites,
		"Writes a whole file of the sandbox, and makes the directories that it needs. To change a part of a file use patch.",
		func(c call, in toolbox.WriteFileInput) (toolbox.WriteFileOutput, error) {
			return c.tools.WriteFile(c.ctx, in)
		})
	add(d, "patch", "Change files", destroys,
		"Changes files of the sandbox: one place of one file by old_string and new_string, or several files by a patch, of which all or nothing is applied. The answer shows what changed.",
		func(c call, in toolbox.PatchInput) (toolbox.PatchOutput, error) {
			return c.tools.Patch(c.ctx, in)
		})
	add(d, "search_files", "Search files", reads,
		"Searches files of the sandbox: their lines by a regular expression, or their names by a glob.",
		func(c call, in toolbox.SearchFilesInput) (toolbox.SearchFilesOutput, error) {
			return c.tools.SearchFiles(c.ctx, in)
		})
	add(d, "list_files", "List a directory", reads,
		"Lists a directory of the sandbox, hidden files among it.",
		func(c call, in toolbox.ListFilesInput) (toolbox.ListFilesOutput, error) {
			return c.tools.ListFiles(c.ctx, in)
		})
}

// call is one call of a tool.
type call struct {
	*session
	ctx     context.Context
	request *mcp.CallToolRequest
}

// add lists a tool whose schemas are those of its input and its answer.
func add[In, Out any](d *Door, name, title string, kind mcp.ToolAnnotations, description string, do func(call, In) (Out, error)) {
	kind.Title = title
	tool := &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &kind}
	mcp.AddTool(d.server, tool, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out Out
		s, ctx, leave, err := d.enter(ctx, request.Session)
		if err != nil {
			return nil, out, err
		}
		defer leave()
		if out, err = do(call{s, ctx, request}, in); err != nil {
			d.note(name, err)
			return nil, out, err
		}
		text, err := plain(out)
		if err != nil {
			return nil, out, err
		}
		return &mcp.CallToolResult{Content: s.withNotices(text)}, out, nil
	})
}

// plain is an answer as text: its JSON, in which every character stands for itself.
func plain(out any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// withNotices is an answer with what happened in the background meanwhile, as far as it does not have it itself.
func (s *session) withNotices(text string) []mcp.Content {
	content := []mcp.Content{&mcp.TextContent{Text: text}}
	if notices := s.tools.Notices(); len(notices) > 0 {
		var b strings.Builder
		b.WriteString("Meanwhile, in the background:")
		for _, n := range notices {
			fmt.Fprintf(&b, "\n%s: %s", n.Process, n.Text)
		}
		content = append(content, &mcp.TextContent{Text: b.String()})
	}
	return content
}

// note logs what is about Hermes and not about a call.
func (d *Door) note(tool string, err error) {
	if _, refused := err.(*toolbox.Refusal); !refused && d.life.Err() == nil {
		d.Log.Warn("a tool could not be used", "tool", tool, "why", err)
	}
}

// instructions tell a model where it is.
func (d *Door) instructions() string {
	can := d.Sandboxes.Manager().Capabilities()
	var b strings.Builder
	if can.Isolated {
		fmt.Fprintf(&b, "These tools work in a sandbox: a machine of its own for commands and files, apart from the one that you and your user are on. "+
			"Commands begin in %s, which is kept; what is elsewhere may be gone when the sandbox has ended.", sandbox.Workspace)
	} else {
		b.WriteString("These tools work in the container or on the machine that Hermes runs on, without a boundary of their own.")
	}
	b.WriteString(" The terminal keeps its directory and variables from call to call. Start servers and long work in the background (terminal with background, or process with start) and look after them with process." +
		" Prefer read_file, write_file, patch, search_files and list_files over cat, sed, grep and ls.")
	return b.String()
}
