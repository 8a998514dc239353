package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file as people have them.
const commented = `# my agent
model: big   # the good one

terminal:  # where commands run
  backend: local
  # in seconds
  timeout: 60

  docker_volumes:
  - "/a:/a"  # first
  - /b:/b
  # nothing else here

# who may come in
dashboard:
  basic_auth: {}
  public_url:   # none yet
  theme:   # none yet
list: [1,
  2]
text: |
  # not a comment
  two
last: 'it''s # here' # end`

func TestAChangeLeavesTheRestAsItIs(t *testing.T) {
	for name, test := range map[string]struct{ key, value, old, new string }{
		"a value":                  {"terminal.timeout", "90", "  timeout: 60\n", "  timeout: 90\n"},
		"a value with a comment":   {"model", "small", "model: big   # the good one\n", "model: small   # the good one\n"},
		"a quoted value":           {"last", "x # y", `last: 'it''s # here' # end`, `last: "x # y" # end` + "\n"},
		"a list":                   {"terminal.docker_volumes", "[]", "  docker_volumes:\n  - \"/a:/a\"  # first\n  - /b:/b\n", "  docker_volumes: []\n"},
		"a list over lines":        {"list", "{a: b}", "list: [1,\n  2]\n", "list: {a: b}\n"},
		"a text over lines":        {"text", "one", "text: |\n  # not a comment\n  two\n", "text: one\n"},
		"a new key of a section":   {"terminal.cwd", "/tmp", "  # nothing else here\n", "  # nothing else here\n  cwd: /tmp\n"},
		"below an empty section":   {"dashboard.basic_auth.username", "me", "  basic_auth: {}\n", "  basic_auth:\n    username: me\n"},
		"below nothing":            {"dashboard.theme.deep.er", "1", "  theme:   # none yet\n", "  theme:   # none yet\n    deep:\n      er: 1\n"},
		"a key without a value":    {"dashboard.public_url", "https://a.example", "  public_url:   # none yet\n", "  public_url: https://a.example   # none yet\n"},
		"a new section at the end": {"agent.name", "null", "# end", "# end\nagent:\n  name: null\n"},
		"a text that is no value":  {"model", "a: b", "big   #", `"a: b"   #`},
		"a text of many lines":     {"model", "a\nb", "big   #", `"a\nb"   #`},
		"an empty text":            {"model", "", "big   #", `""   #`},
		"an odd key":               {"terminal.a b", "1", "  # nothing else here\n", "  # nothing else here\n  \"a b\": 1\n"},
	} {
		want := strings.Replace(commented, test.old, test.new, 1)
		if want == commented {
			t.Fatalf("%s: %q is not in the file", name, test.old)
		}
		home := t.TempDir()
		file := filepath.Join(home, "config.yaml")
		if err := os.WriteFile(file, []byte(commented), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Set(home, test.key, test.value); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := os.ReadFile(file); string(got) != want {
			t.Errorf("%s:\n%s", name, got)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAChangeOfOtherFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, key, value, want string }{
		"none":                 {"", "a.b", "1", "a:\n  b: 1\n"},
		"comments only":        {"# x\n", "a", "1", "# x\na: 1\n"},
		"Windows' lines":       {"a: 1\r\nb: 2\r\n", "a", "3", "a: 3\r\nb: 2\r\n"},
		"a mark":               {"\ufeffa: 1\n", "a", "3", "\ufeffa: 3\n"},
		"letters of all":       {"é: ä # ö\n", "é", "ü", "é: ü # ö\n"},
		"four spaces":          {"a:\n    b: 1\nc: 2\n", "a.d", "1", "a:\n    b: 1\n    d: 1\nc: 2\n"},
		"a key twice":          {"a: 1\na: 2\n", "a", "3", "a: 1\na: 3\n"},
		"a key that is merged": {"u: &u\n  x: 1\nm:\n  <<: *u\n", "m.x", "2", "u: &u\n  x: 1\nm:\n  <<: *u\n  x: 2\n"},
		"a beginning":          {"---\na: 1\n", "b", "2", "---\na: 1\nb: 2\n"},
		"an apostrophe":        {"a: don't # do\n", "a", "do", "a: do # do\n"},
		"a comment that ends":  {"a:\n  b: 1\n# about c\nc: 1\n", "a.d", "2", "a:\n  b: 1\n  d: 2\n# about c\nc: 1\n"},
	} {
		home := t.TempDir()
		if test.text != "" {
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := Set(home, test.key, test.value); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := os.ReadFile(filepath.Join(home, "config.yaml")); string(got) != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestANewFileIsForItsOwnerAndGroup(t *testing.T) {
	home := t.TempDir()
	if err := Set(home, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(home, "config.yaml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFileThatLivesElsewhereStaysThere(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"config.yaml": "a: 1\n", ".env": "A_B=1\n"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(elsewhere, name), filepath.Join(home, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := errors.Join(Set(home, "a", "2"), SetVariable(home, "A_B", "2")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"config.yaml": "a: 2\n", ".env": "A_B=2\n"} {
		if got, _ := os.ReadFile(filepath.Join(elsewhere, name)); string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
		if info, _ := os.Lstat(filepath.Join(home, name)); info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link is gone", name)
		}
	}
}

func TestWhatCannotBeSetIsRefusedAndNothingChanges(t *testing.T) {
	text := "terminal:\n  timeout: 60\nbraces: {a: 1}\nusual: &usual\n  x: 1\nother: *usual\nanchor: &a 1\nalias: *a\nfirst: &b 1\nsecond: &b 2\nthird: *b\nscalar: 1\n"
	for _, test := range []struct{ key, value, says string }{
		{"terminal.timeout", "soon", "whole number of seconds"},
		{"terminal.docker_network", "banana", "true or false"},
		{"terminal.docker_volumes", "a", "not a list"},
		{"gateway.multiplex_profiles", "banana", "true or false"},
		{"platforms.api_server.extra.port", "99999", "a port"},
		{"dashboard.trusted_proxies", "['*']", "entry 1"},
		{"terminal", "x", "section with keys below it"},
		{"braces.a", "2", "braces"},
		{"usual.y", "2", "not a section"},
		{"other.x", "2", "not a section"},
		{"anchor", "2", "by hand"}, // what refers to it would not be understood
		{"second", "3", "by hand"}, // what refers to it would mean something else
		{"scalar.x", "2", "not a section"},
		{"a..b", "2", "names with dots"},
		{"", "2", "names with dots"},
	} {
		home := t.TempDir()
		file := filepath.Join(home, "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Set(home, test.key, test.value)
		if err == nil || !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%s: %v", test.key, test.value, err)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%s=%s changed the file:\n%s", test.key, test.value, got)
		}
	}
}

// What was wrong before stops nobody from changing something else, or from mending it.
func TestAnOldMistakeCanBeMended(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("terminal:\n  timeout: soon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Set(home, "model", "x"); err != nil {
		t.Error(err)
	}
	if err := Set(home, "terminal.timeout", "5"); err != nil {
		t.Error(err)
	}
	if got, err := Get(home, "terminal.timeout"); err != nil || got != uint64(5) {
		t.Errorf("%v (%T), %v", got, got, err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	value := map[string]any{"key": "s1", "api_key": "s2", "monkey": "fine", "deep": []any{map[string]any{"Password": "s3", "token": nil}}, "secret": map[string]any{"name": "ok"}}
	got, err := Show(value, false)
	if err != nil || strings.Contains(got, "s1") || strings.Contains(got, "s2") || strings.Contains(got, "s3") || !strings.Contains(got, "fine") || !strings.Contains(got, "ok") {
		t.Errorf("%s, %v", got, err)
	}
	if got, _ := Show(value, true); !strings.Contains(got, "s3") {
		t.Errorf("asked for: %s", got)
	}
}

func TestMigrationsBackUpFirstAndAreDoneOnce(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	for name, text := range map[string]string{"config.yaml": "old: 1\n", ".env": "A_KEY=1\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	due := []Migration{
		{"nothing", func(text string) (string, error) { return text, nil }},
		{"rename", func(text string) (string, error) { return strings.Replace(text, "old:", "new:", 1), nil }},
	}
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	if done, err := Migrate(home, due, now); err != nil || strings.Join(done, " ") != "rename" {
		t.Fatalf("%v, %v", done, err)
	}
	for name, want := range map[string]string{"config.yaml": "new: 1\n", "config.yaml.backup-20300102T030405Z": "old: 1\n", ".env.backup-20300102T030405Z": "A_KEY=1\n"} {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if done, err := Migrate(home, due, now.Add(time.Hour)); err != nil || done != nil {
		t.Errorf("the second time: %v, %v", done, err)
	}
	bad := append(due, Migration{"broken", func(string) (string, error) { return "", errors.New("no") }})
	if _, err := Migrate(home, bad, now.Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(home); len(entries) != 4 {
		t.Errorf("more than one backup: %v", entries)
	}
	if done, err := Migrate(t.TempDir(), bad, now); err != nil || done != nil {
		t.Errorf("without a file: %v, %v", done, err)
	}
}
