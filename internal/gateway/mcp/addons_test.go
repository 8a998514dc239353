package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/configured"
)

func TestAToolWithASchemaOfNobodysLikingIsLeftOut(t *testing.T) {
	d := &Door{server: mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)}
	d.Log = slog.New(slog.DiscardHandler)
	for _, schema := range []string{
		"", "null", "[]", "{}", `{"type":"string"}`, `{"type":["object"]}`,
		`{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"no header"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":5}}}`,
	} {
		if d.list("x__y", feature.Feature{Name: "x"}, backend.Tool{Name: "y", Input: json.RawMessage(schema)}) {
			t.Errorf("a tool with the schema %s is listed", schema)
		}
	}
	if !d.list("x__y", feature.Feature{Name: "x"}, backend.Tool{Name: "y", Input: json.RawMessage(`{"type":"object"}`)}) {
		t.Error("a good one is not")
	}
}

// A backend that fails once while it is asked loses nothing, and is asked again.
func TestToolsOfABackendThatDoesNotAnswerStay(t *testing.T) {
	d := &Door{server: mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)}
	d.Log, d.life = slog.New(slog.DiscardHandler), context.Background()
	find := func(name string) (feature.Feature, error) { return feature.Feature{Name: name}, nil }
	tool := []backend.Tool{{Name: "t", Input: json.RawMessage(`{"type":"object"}`)}}
	for _, step := range []struct {
		offered []configured.Offered
		whole   bool
		want    string
	}{
		{[]configured.Offered{{Feature: "a", Tools: tool}, {Feature: "b", Failed: true}}, false, "a__t"},
		{[]configured.Offered{{Feature: "a", Tools: tool}, {Feature: "b", Tools: tool}}, true, "a__t b__t"},
		{[]configured.Offered{{Feature: "a", Failed: true}, {Feature: "b", Tools: tool}}, false, "a__t b__t"},
		{[]configured.Offered{{Feature: "a", Failed: true}, {Feature: "b", Failed: true}}, false, "a__t b__t"},
		{[]configured.Offered{{Feature: "a"}, {Feature: "b", Tools: tool}}, true, "b__t"},
		{nil, true, ""},
	} {
		whole := d.offer(step.offered, find)
		if got := strings.Join(slices.Sorted(maps.Keys(d.offered)), " "); got != step.want || whole != step.whole {
			t.Errorf("%+v: %q, %v", step.offered, got, whole)
		}
	}
}

func TestABackendThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	l, now := lookout{every: time.Second}, time.Now()
	ask := func(state string, whole bool) {
		if !l.due(state, now) {
			t.Errorf("%q is not asked for", state)
		}
		l.looked(state, whole, now)
	}
	ask("", false)
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if now = now.Add(pause - 1); l.due("", now) {
			t.Errorf("it is asked again within %v", pause)
		}
		now = now.Add(1)
		ask("", false)
	}
	ask("another", true)
	if now = now.Add(time.Hour); l.due("another", now) {
		t.Error("it is asked again although all have answered")
	}
	ask("third", false)
	now = now.Add(time.Second)
	ask("third", false)
	for range 20 {
		now = now.Add(longestPause)
		ask("third", false)
	}
}
