package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon/unavailable"
)

// ErrHangs is the cause of the error about a call that was not answered in time. Who gets it should not call the same
// process again.
var ErrHangs = errors.New("it hangs")

// What a backend may say of its tools. All of it is kept as long as the backend is.
const (
	mostTools    = 1000
	longestName  = 128 // bytes; the protocol recommends no more
	largestTools = 4 << 20
)

// listTools asks for all tools. A backend that always has one more page is not believed.
func listTools(ctx context.Context, session *mcp.ClientSession) ([]Tool, error) {
	var tools []Tool
	size := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(tools) == mostTools {
			return nil, fmt.Errorf("it has more than %d tools", mostTools)
		}
		if len(t.Name) > longestName {
			return nil, fmt.Errorf("its tool %.20q… has a name of more than %d bytes", t.Name, longestName)
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("its tool %q has no schema: %w", t.Name, err)
		}
		if size += len(t.Description) + len(schema); size > largestTools {
			return nil, fmt.Errorf("what it says of its tools has more than %d bytes", largestTools)
		}
		tools = append(tools, Tool{Name: t.Name, Description: t.Description, Input: schema})
	}
	return tools, nil
}

// Tools are those it said it has.
func (b *Backend) Tools() []Tool { return slices.Clone(b.tools) }

// Call calls a tool with an object of arguments. A caller that gives up ends its call and not the backend, which is told.
// The error is an *unavailable.Error, unless ctx ended or there is no such tool.
func (b *Backend) Call(ctx context.Context, tool string, args json.RawMessage) (Result, error) {
	if err := b.knows(tool); err != nil {
		return Result{}, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if why := notAnObject(args); why != nil {
		return Result{}, fmt.Errorf("cannot call %s of %s: its arguments are no JSON object: %w", tool, b.launch.Feature, why)
	}
	limited, cancel := context.WithTimeout(ctx, b.launch.Bounds.Call)
	defer cancel()
	var answer json.RawMessage
	defer b.line.answers.forget(&answer)
	_, err := b.session.CallTool(awaiting(limited, &answer), &mcp.CallToolParams{Name: tool, Arguments: args})
	var refusal *jsonrpc.Error
	switch {
	case err == nil:
		return b.result(answer)
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case errors.As(err, &refusal):
		return b.refused(refusal.Message)
	case limited.Err() != nil:
		why := fmt.Sprintf("it did not answer within %s", b.launch.Bounds.Call)
		return Result{}, unavailable.BackendFailed(why, b.lastWords(), ErrHangs).For(b.launch.Feature, nil)
	}
	if _, ended := b.Ended(); ended {
		return Result{}, b.failure()
	}
	return Result{}, b.nonsense(err)
}

// nonsense is for an answer that is none.
func (b *Backend) nonsense(err error) error {
	return unavailable.BackendFailed("its answer cannot be used: "+b.secrets.Hide(err.Error()), b.lastWords(), nil).For(b.launch.Feature, nil)
}

// mostNamed is how many tools an error names.
const mostNamed = 50

func (b *Backend) knows(tool string) error {
	var names []string
	for _, t := range b.tools {
		if t.Name == tool {
			return nil
		}
		names = append(names, t.Name)
	}
	if more := len(names) - mostNamed; more > 0 {
		names = append(names[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("cannot call %q of %s: it has no such tool; it has %s", tool, b.launch.Feature, strings.Join(names, ", "))
}

func notAnObject(args json.RawMessage) error {
	if !utf8.Valid(args) {
		return errors.New("it is not UTF-8")
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(args, &object)
	if err == nil && object == nil {
		return errors.New("it is null")
	}
	return err
}

// result is an answer as callers get it. One that tells of a failure is an error's text, and has no secrets.
func (b *Backend) result(answer json.RawMessage) (Result, error) {
	var parts struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Failed     bool            `json:"isError"`
	}
	if err := json.Unmarshal(answer, &parts); err != nil {
		return Result{}, b.nonsense(err)
	}
	r := Result{Content: parts.Content, Structured: parts.Structured, Failed: parts.Failed}
	if isNothing(r.Content) {
		r.Content = json.RawMessage("[]")
	}
	if isNothing(r.Structured) {
		r.Structured = nil
	}
	if !r.Failed {
		return r, nil
	}
	return b.withoutSecrets(r)
}

func isNothing(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// refused is the answer of a backend that did not call its tool.
func (b *Backend) refused(why string) (Result, error) {
	content, err := json.Marshal([]mcp.Content{&mcp.TextContent{Text: b.secrets.Hide(why)}})
	return Result{Content: content, Failed: true}, err
}

// withoutSecrets takes the secrets out of a result's texts. A secret may be part of JSON itself, so it is not looked for
// in the result as it stands.
func (b *Backend) withoutSecrets(r Result) (Result, error) {
	for _, part := range []*json.RawMessage{&r.Content, &r.Structured} {
		if *part == nil {
			continue
		}
		var value any
		decoder := json.NewDecoder(bytes.NewReader(*part))
		decoder.UseNumber()
		err := decoder.Decode(&value)
		if err == nil {
			*part, err = json.Marshal(b.hide(value))
		}
		if err != nil {
			return Result{}, b.nonsense(err)
		}
	}
	return r, nil
}

// hide hides the secrets in all texts of a value.
func (b *Backend) hide(value any) any {
	switch v := value.(type) {
	case string:
		return b.secrets.Hide(v)
	case []any:
		for i := range v {
			v[i] = b.hide(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = b.hide(v[name])
		}
	}
	return value
}
