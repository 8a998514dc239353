package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// judge says what another program finds wrong with an OpenAPI document; empty is nothing.
func judge(t *testing.T, document string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(clients(t), "node_modules", "@seriousme", "openapi-schema-validator", "bin", "validate-api-cli.js"), document)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if _, ended := err.(*exec.ExitError); !ended || len(out) == 0 {
		t.Fatalf("cannot judge %s: %v\n%s", document, err, out)
	}
	return string(out)
}

func TestTheDocumentOfTheAPIIsOneToOthers(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "openapi.json")
	if wrong := judge(t, path); wrong != "" {
		t.Errorf("docs/openapi.json is no OpenAPI document to others:\n%.2000s", wrong)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// What cannot say no says nothing.
	broken := strings.Replace(string(text), `"paths":`, `"roads":`, 1)
	other := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(other, []byte(strings.Replace(broken, `"info":`, `"about":`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if judge(t, other) == "" {
		t.Error("a document without its title is one, too")
	}
}
