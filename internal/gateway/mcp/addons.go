package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
)

// webTools are those of the features by which the web is searched. They are listed once, for whichever of them the
// configuration chooses.
var webTools = []string{"web_search", "web_extract"}

// WebSearchInput asks for pages of the web.
type WebSearchInput struct {
	Query string `json:"query" jsonschema:"what to look for"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results at most: 5 unless given, 50 at the most"`
}

// WebExtractInput asks for the text of pages.
type WebExtractInput struct {
	URLs          []string `json:"urls" jsonschema:"addresses of pages, 20 at the most"`
	MaxCharacters int      `json:"max_characters,omitempty" jsonschema:"of the text of each page: 50000 unless given"`
}

// addWeb lists the web. What answers is installed at its first use.
func (d *Door) addWeb() {
	addOutside(d, "web_search", "Search the web",
		"Searches the web. The results are pages with title, address and a snippet of their text, best first.",
		func(c call, in WebSearchInput) (backend.Result, error) { return d.web(c, "web_search", in) })
	addOutside(d, "web_extract", "Read web pages",
		"Reads web pages. Each has its title and its text as Markdown, or an error in the place of the text.",
		func(c call, in WebExtractInput) (backend.Result, error) { return d.web(c, "web_extract", in) })
}

func (d *Door) web(c call, tool string, in any) (backend.Result, error) {
	arguments, err := json.Marshal(in)
	if err != nil {
		return backend.Result{}, err
	}
	_, result, err := d.Addons.First(c.ctx, choice.Search, tool, arguments, c.installProgress())
	d.lookSoon()
	return result, err
}

// addOutside lists a tool that a backend answers.
func addOutside[In any](d *Door, name, title, description string, do func(call, In) (backend.Result, error)) {
	kind := asks
	kind.Title = title
	tool := &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &kind}
	mcp.AddTool(d.server, tool, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		s, ctx, leave, err := d.enter(ctx, request.Session)
		if err != nil {
			return nil, nil, err
		}
		defer leave()
		result, err := do(call{s, ctx, request}, in)
		if err != nil {
			return nil, nil, err
		}
		answer, err := outside(result)
		return answer, nil, err
	})
}

// outside is what a backend answered, as it answered it.
func outside(r backend.Result) (*mcp.CallToolResult, error) {
	content := r.Content
	if len(content) == 0 {
		content = json.RawMessage("[]")
	}
	text, err := json.Marshal(map[string]json.RawMessage{"content": content})
	if err != nil {
		return nil, errors.New("cannot read what the backend answered: it is no content of the protocol")
	}
	answer := new(mcp.CallToolResult)
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, fmt.Errorf("cannot read what the backend answered: %w", err)
	}
	answer.IsError = r.Failed
	if len(r.Structured) > 0 {
		answer.StructuredContent = r.Structured
	}
	return answer, nil
}

// list lists one tool of a feature, unless its schema is none.
func (d *Door) list(name string, f feature.Feature, tool backend.Tool) (listed bool) {
	// The library takes a schema that it does not like for a mistake of ours. It is the add-on's.
	defer func() {
		if why := recover(); why != nil {
			d.Log.Warn("a tool of an add-on is left out", "feature", f.Name, "tool", tool.Name, "why", why)
			listed = false
		}
	}()
	var schema map[string]any
	if err := json.Unmarshal(tool.Input, &schema); err != nil || schema["type"] != "object" {
		d.Log.Warn("a tool of an add-on is left out: its schema is not that of an object", "feature", f.Name, "tool", tool.Name)
		return false
	}
	offer := &mcp.Tool{Name: name, Description: tool.Description, InputSchema: tool.Input, Annotations: &mcp.ToolAnnotations{Title: f.Name + ": " + tool.Name}}
	d.server.AddTool(offer, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := d.callFeature(ctx, request, f, tool.Name)
		if err != nil {
			result = new(mcp.CallToolResult)
			result.SetError(err)
		}
		return result, nil
	})
	return true
}

func (d *Door) callFeature(ctx context.Context, request *mcp.CallToolRequest, f feature.Feature, tool string) (*mcp.CallToolResult, error) {
	_, ctx, leave, err := d.enter(ctx, request.Session)
	if err != nil {
		return nil, err
	}
	defer leave()
	arguments := request.Params.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	result, err := d.Addons.Call(ctx, f, tool, arguments, 0)
	if err != nil {
		return nil, err
	}
	return outside(result)
}

// longestName is what clients leave for the name of a tool, which they put the server's name before.
const longestName = 48

// ToolName is how a tool of a feature is listed. No other tool has that name: ours have no two underlines, and one that is
// cut has a digest.
func ToolName(feature, tool string) string {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
				return r
			}
			return '_'
		}, s)
	}
	name := clean(feature) + "__" + clean(tool)
	if len(name) <= longestName && clean(tool) == tool {
		return name
	}
	sum := sha256.Sum256([]byte(feature + "\x00" + tool))
	return name[:min(len(name), longestName-9)] + "_" + hex.EncodeToString(sum[:4])
}
