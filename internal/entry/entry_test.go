package entry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	const wrapper, old = "/opt/hermes/docker/main-wrapper.sh", "/opt/hermes/docker/entrypoint.sh"
	for _, c := range []struct {
		argv string
		want Call
	}{
		{"hermes-init", Call{}},
		{"/init", Call{}},
		{"/init gateway run", Call{Args: []string{"gateway", "run"}}},
		{old + " chat", Call{Args: []string{"chat"}, Deprecated: "entrypoint.sh"}},
		{wrapper + " sh -c true", Call{Args: []string{"sh", "-c", "true"}}},
		// Nothing is wrapped twice.
		{"/init " + wrapper + " gateway run", Call{Args: []string{"gateway", "run"}}},
		{"/usr/bin/tini -g -- " + old + " -p coder gateway run", Call{Args: []string{"-p", "coder", "gateway", "run"}, Deprecated: "entrypoint.sh"}},
		{"/usr/bin/tini -g -- /init " + wrapper, Call{}},
		{"/init /usr/bin/tini -g -- sleep 1", Call{Args: []string{"sleep", "1"}}},
		// The command may be ours, but is a program of its own.
		{"/init /opt/hermes/bin/hermes version", Call{Args: []string{"/opt/hermes/bin/hermes", "version"}}},
		{"/init init", Call{Args: []string{"init"}}},
		// tini's own flags go, and nothing else does.
		{"tini", Call{}},
		{"tini --", Call{}},
		{"tini -g --", Call{}},
		{"tini -v -vvv -s -w -l -h --version --unknown -x --", Call{}},
		{"tini -p SIGTERM -e 143 -g sleep 1", Call{Args: []string{"sleep", "1"}}},
		{"tini -pSIGTERM -e143 sleep -p 1", Call{Args: []string{"sleep", "-p", "1"}}},
		{"tini -gp SIGTERM sleep 1", Call{Args: []string{"sleep", "1"}}},
		{"tini -p", Call{}},
		{"tini -- -p coder", Call{Args: []string{"-p", "coder"}}},
		{"tini -g -- -- x", Call{Args: []string{"--", "x"}}},
		{"tini - x", Call{Args: []string{"-", "x"}}},
		{"tini --expose sleep", Call{Args: []string{"sleep"}}},
	} {
		got := Understand(strings.Fields(c.argv))
		if !slices.Equal(got.Args, c.want.Args) || got.Deprecated != c.want.Deprecated {
			t.Errorf("%s: got %+v, want %+v", c.argv, got, c.want)
		}
	}
	if got := Understand(nil); got.Args != nil {
		t.Errorf("no words: %+v", got)
	}
}

func TestRoutes(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "-p": 0o755, "login": 0o755, "sandbox": 0o755, "notes": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "relative::/nonexistent:" + dir
	tool := filepath.Join(dir, "tool")
	for _, c := range []struct {
		command []string
		program string
	}{
		{nil, Program},
		{[]string{""}, Program},
		{[]string{"--help"}, Program},
		{[]string{"-p", "coder", "gateway", "run"}, Program},
		{[]string{"login", "x"}, Program},
		{[]string{"sandbox", "ls"}, Program},
		{[]string{"chta"}, Program},
		{[]string{"notes"}, Program},
		{[]string{"directory"}, Program},
		{[]string{filepath.Join(dir, "notes")}, Program},
		{[]string{"tool", "a b", "", `"'$x`, "\xff\n", "--help"}, tool},
		{[]string{tool}, tool},
		{[]string{filepath.Join(dir, "login")}, filepath.Join(dir, "login")},
	} {
		want := c.command
		if c.program == Program {
			want = append([]string{"hermes"}, c.command...)
		}
		program, argv := Route(c.command, path)
		if program != c.program || !slices.Equal(argv, want) {
			t.Errorf("%q: got %s %q, want %s %q", c.command, program, argv, c.program, want)
		}
	}
}

func TestPurposes(t *testing.T) {
	for command, want := range map[string]string{
		"":                                  "",
		"gateway run":                       "gateway run",
		"hermes gateway run":                "gateway run",
		"/opt/hermes/bin/hermes -p x chat":  "chat",
		"-p coder gateway run":              "gateway run",
		"--profile coder --quiet dashboard": "dashboard",
		"--profile=coder gateway":           "gateway",
		"-p":                                "",
		"bash -c gateway":                   "bash -c gateway",
	} {
		if got := strings.Join(Purpose(strings.Fields(command)), " "); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
}
