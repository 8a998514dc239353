package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/sealed"
)

// fake is a runtime whose programs are these shell scripts, by their names. Each leaves its arguments and its environment
// in a file beside it: uv-1.args, uv-1.env for the first run of uv, and so on.
func fake(t *testing.T, programs map[string]string) *sealed.Runtime {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range programs {
		path := filepath.Join(root, "bin", name)
		text := "#!/bin/sh\nn=1; while [ -e '" + path + "'-$n.args ]; do n=$((n+1)); done\n" +
			"printf '%s\\n' \"$@\" >'" + path + "'-$n.args; env >'" + path + "'-$n.env\n" + script + "\n"
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &sealed.Runtime{Root: root}
}

// left is what a run of a fake program left: "uv-1.args".
func left(t *testing.T, r *sealed.Runtime, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Root, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// runs is how often a fake program was started.
func runs(t *testing.T, r *sealed.Runtime, program string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(r.Root, "bin", program+"-*.args"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// value is a variable's of a run's environment.
func value(t *testing.T, r *sealed.Runtime, run, name string) string {
	t.Helper()
	for _, entry := range left(t, r, run+".env") {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}
