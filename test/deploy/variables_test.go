package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
)

// ours are names of variables that Hermes reads. Others are Docker's, Kubernetes' or the shell's.
var ours = regexp.MustCompile(`\b(?:(?:HERMES|TERMINAL|API_SERVER|GATEWAY|S6)_[A-Z0-9_]*[A-Z0-9]|PUID|PGID)\b`)

// notOurs are those that look so: what the compose file itself is told.
var notOurs = map[string]bool{"HERMES_IMAGE": true}

// Every variable that is told to people is one that something reads.
func TestEveryVariableIsKnown(t *testing.T) {
	known := variablesThatAreRead(t)
	for _, path := range append(manifests(t), composeFile, units+"hermes.service", units+"hermes-gateway@.service", "docs/install.md", "docs/troubleshooting.md") {
		found := ours.FindAllString(read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s names no variable", path)
		}
		for _, name := range found {
			if !known[name] && !notOurs[name] {
				t.Errorf("%s: nobody reads %s", path, name)
			}
		}
	}
	for _, name := range []string{"HERMES_DASHBOARD_PASSWORD", "PUID_X"} {
		if known[name] {
			t.Errorf("everything is known, %s too", name)
		}
	}
}

// variablesThatAreRead is every name that the configuration asks its environment for, and every one that stands in the source as a
// text of its own.
func variablesThatAreRead(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	home := t.TempDir()
	lookup := func(name string) (string, bool) {
		known[name] = true
		if name == "HERMES_HOME" {
			return home, true
		}
		return "", false
	}
	c, err := config.Load(lookup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dashboard(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Gateway(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Container(); err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile(`"([A-Z][A-Z0-9_]+)"`)
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range quoted.FindAllSubmatch(source, -1) {
				known[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return known
}
