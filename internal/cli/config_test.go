package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// inHome runs a command line in a home, and returns what it wrote.
func inHome(t *testing.T, home string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	a, out, err := testApp()
	a.lookup = lookupIn(map[string]string{"HERMES_HOME": home})
	status = a.run(t.Context(), args)
	return status, out.String(), err.String()
}

func TestConfigIsSetAndRead(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	home := filepath.Join(t.TempDir(), "new", "home")
	for _, set := range [][2]string{{"terminal.timeout", "300"}, {"name", "a b: c"}, {"OPENROUTER_API_KEY", "sk-1 2"}, {"providers.x.api_key", "hidden"}} {
		if status, out, err := inHome(t, home, "config", "set", set[0], set[1]); status != 0 || out+err != "" {
			t.Fatalf("%v: %d %s%s", set, status, out, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(home, "config.yaml")); string(text) != "terminal:\n  timeout: 300\nname: \"a b: c\"\nproviders:\n  x:\n    api_key: hidden\n" {
		t.Errorf("config.yaml:\n%s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(home, ".env")); string(text) != "OPENROUTER_API_KEY='sk-1 2'\n" {
		t.Errorf(".env:\n%s", text)
	}
	for _, get := range []struct {
		args   []string
		status int
		out    string
	}{
		{[]string{"terminal.timeout"}, 0, "300\n"},
		{[]string{"terminal"}, 0, "timeout: 300\n"},
		{[]string{"name"}, 0, "a b: c\n"},
		{[]string{"providers"}, 0, "x:\n  api_key: \"[redacted]\"\n"},
		{[]string{"providers.x.api_key"}, 1, ""},
		{[]string{"--reveal", "providers.x.api_key"}, 0, "hidden\n"},
		{[]string{"OPENROUTER_API_KEY"}, 1, ""},
		{[]string{"OPENROUTER_API_KEY", "--reveal"}, 0, "sk-1 2\n"},
		{[]string{"absent.key"}, 1, ""},
		{[]string{"ABSENT_KEY"}, 1, ""},
		{nil, 2, ""},
	} {
		status, out, err := inHome(t, home, append([]string{"config", "get"}, get.args...)...)
		if status != get.status || out != get.out || (status != 0) != strings.HasPrefix(err, "hermes: cannot ") || strings.Contains(err, "hidden") {
			t.Errorf("%v: %d %q %q", get.args, status, out, err)
		}
	}
	if status, _, err := inHome(t, home, "config", "set", "terminal.timeout", "soon"); status != 1 || !strings.Contains(err, "whole number of seconds") {
		t.Errorf("a wrong kind: %d %s", status, err)
	}
	if status, _, _ := inHome(t, home, "config", "set", "a"); status != 2 {
		t.Errorf("no value: %d", status)
	}
}

func TestConfigIsTheProfiles(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	home := t.TempDir()
	for _, test := range []struct{ home, profile, want string }{
		{home, "", filepath.Join(home, "config.yaml")},
		{home, "coder", filepath.Join(home, "profiles", "coder", "config.yaml")},
		{filepath.Join(home, "profiles", "x"), "", filepath.Join(home, "profiles", "x", "config.yaml")},
		{filepath.Join(home, "profiles", "x"), "coder", filepath.Join(home, "profiles", "coder", "config.yaml")},
		{filepath.Join(home, "profiles", "x"), "default", filepath.Join(home, "config.yaml")},
	} {
		args := []string{"config", "path"}
		if test.profile != "" {
			args = append([]string{"-p", test.profile}, args...)
		}
		if status, out, err := inHome(t, test.home, args...); status != 0 || strings.TrimSpace(out) != test.want {
			t.Errorf("%+v: %d %s%s", test, status, out, err)
		}
	}
	if status, _, err := inHome(t, home, "-p", "../evil", "config", "path"); status == 0 || !strings.Contains(err, "name of a profile") {
		t.Errorf("a bad name: %d %s", status, err)
	}
	if status, _, err := inHome(t, home, "-p", "absent", "config", "set", "a", "1"); status != 1 || err == "" {
		t.Errorf("a profile that is not there: %d %s", status, err)
	}
}

// Whatever is wrong with a configuration, a boot gets its answer.
func TestConfigNeverStopsABoot(t *testing.T) {
	for name, test := range map[string]struct {
		file, env string
		multiplex bool
		warnings  int
	}{
		"none":               {"", "", false, 0},
		"on":                 {"gateway:\n  multiplex_profiles: true\n", "", true, 0},
		"by the variables":   {"", "GATEWAY_MULTIPLEX_PROFILES=1\n", true, 0},
		"not understood":     {"gateway: [\n", "", false, 1},
		"odd":                {"gateway:\n  multiplex_profiles: banana\n", "", false, 1},
		"wrong somewhere":    {"terminal:\n  timeout: soon\ngateway:\n  multiplex_profiles: true\n", "", true, 0},
		"variables not":      {"multiplex_profiles: true\n", "nonsense\n", true, 1},
		"a list for a value": {"- a\n", "", false, 1},
		"no variables":       {"multiplex_profiles: true\n", "a directory", true, 1},
	} {
		home := t.TempDir()
		if test.file != "" {
			os.WriteFile(filepath.Join(home, "config.yaml"), []byte(test.file), 0o600)
		}
		if test.env == "a directory" {
			os.Mkdir(filepath.Join(home, ".env"), 0o700)
		} else {
			os.WriteFile(filepath.Join(home, ".env"), []byte(test.env), 0o600)
		}
		status, out, err := inHome(t, home, "config", "boot")
		var got bootSettings
		if json.Unmarshal([]byte(out), &got) != nil || status != 0 || err != "" || got.MultiplexProfiles != test.multiplex || len(got.Warnings) != test.warnings {
			t.Errorf("%s: %d %s%s", name, status, out, err)
		}
		if text, _ := os.ReadFile(filepath.Join(home, "config.yaml")); string(text) != test.file {
			t.Errorf("%s: the file became %q", name, text)
		}
	}
}

func TestABootMigratesUnlessItIsToldNotTo(t *testing.T) {
	due := []config.Migration{
		{Name: "rename", Apply: func(text string) (string, error) { return strings.Replace(text, "old:", "new:", 1), nil }},
		{Name: "broken", Apply: func(string) (string, error) { return "", errors.New("no") }},
	}
	for _, skip := range []string{"", "1"} {
		home := t.TempDir()
		file := filepath.Join(home, "config.yaml")
		os.WriteFile(file, []byte("old: 1\n"), 0o600)
		a, _, _ := testApp()
		a.lookup = lookupIn(map[string]string{"HERMES_HOME": home, "HERMES_SKIP_CONFIG_MIGRATION": skip})
		s, err := a.bootSettings(due, time.Now())
		text, _ := os.ReadFile(file)
		if skip == "" && (err != nil || string(text) != "new: 1\n" || len(s.Migrated) != 1 || len(s.Warnings) != 1) || skip != "" && (string(text) != "old: 1\n" || s.Migrated != nil) {
			t.Errorf("skip %q: %+v, %v, %q", skip, s, err, text)
		}
	}
}

func TestConfigTakesManyChangesAtOnce(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			key := []string{fmt.Sprintf("k%d", i), fmt.Sprintf("K_%d", i)}[i%2]
			if status, _, err := inHome(t, home, "config", "set", key, "1"); status != 0 {
				t.Errorf("%s: %s", key, err)
			}
		})
	}
	wg.Wait()
	for name, want := range map[string]int{"config.yaml": 10, ".env": 10} {
		if text, _ := os.ReadFile(filepath.Join(home, name)); strings.Count(string(text), "\n") != want {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
