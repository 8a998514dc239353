package mcp

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
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
