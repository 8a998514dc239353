package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// inHome is the environment of a home with a configuration file.
func inHome(t *testing.T, file string, vars map[string]string) Lookup {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"HERMES_HOME": home}
	for name, value := range vars {
		all[name] = value
	}
	return from(all)
}

func TestAnExplicitKeyOfTheFileWins(t *testing.T) {
	vars := map[string]string{"TERMINAL_TIMEOUT": "7", "TERMINAL_LIFETIME_SECONDS": "8", "TERMINAL_DOCKER_ORPHAN_REAPER": "no", "TERMINAL_CONTAINER_PERSISTENT": "no"}
	for name, test := range map[string]struct {
		file string
		want time.Duration
		flag bool
	}{
		"a key":              {"terminal:\n  timeout: 60\n  container_persistent: true\n", time.Minute, true},
		"a key as text":      {"terminal:\n  timeout: '60'\n  container_persistent: 'yes'\n", time.Minute, true},
		"an empty key":       {"terminal:\n  timeout:\n  container_persistent: ''\n", 7 * time.Second, false},
		"another section":    {"agent:\n  timeout: 60\n  123: x\nmodel: [a, b]\n", 7 * time.Second, false},
		"an empty section":   {"terminal:\n", 7 * time.Second, false},
		"a key twice":        {"terminal:\n  timeout: 5\n  timeout: 60\n  container_persistent: 1\n", time.Minute, true},
		"an empty file":      {"", 7 * time.Second, false},
		"a file of comments": {"# nothing\n", 7 * time.Second, false},
	} {
		c, err := Load(inHome(t, test.file, vars))
		if err != nil || c.Timeout != test.want || c.Persistent != test.flag || c.Lifetime != 8*time.Second || c.OrphanReaper {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// However the file is written, its sections are found.
func TestTheFileMayBeWrittenInAnyWay(t *testing.T) {
	for name, file := range map[string]string{
		"plain":               "a: 1\nterminal:\n  timeout: 60\nb:\n  timeout: 1\n",
		"with a lot around":   "---\n# terminal:\na: |\n  terminal:\n    timeout: 1\n\nterminal:\n\n# this\n  timeout: 60\n# that\nlist:\n- terminal\n- timeout: 1\n",
		"quoted":              "\"a\": 1\n'terminal' :\n    'timeout': \"60\"\n",
		"at the end":          "terminal: {timeout: 60}",
		"in braces":           "{a: 1, terminal: {timeout: 60}}\n",
		"over lines":          "a: [\n  1,\n]\nterminal: {\n  timeout: 60\n}\n",
		"with Windows' lines": "a: 1\r\nterminal:\r\n  timeout: 60\r\n",
		"with a reference":    "usual: &usual\n  timeout: 60\nterminal:\n  <<: *usual\n",
		"with a mark":         "\ufeffterminal:\n  timeout: 60\n",
		"an explicit key":     "? terminal\n: timeout: 60\n",
		"wrong elsewhere":     "terminal:\n  timeout: 60\nother: 'open\nmore: [\n",
		"a similar name":      "terminals:\n  timeout: 1\nterminal:\n  timeout: 60\nterminal2:\n  timeout: 1\n",
	} {
		c, err := Load(inHome(t, file, nil))
		if err != nil || c.Timeout != time.Minute {
			t.Errorf("%s: %v, %v", name, c.Timeout, err)
		}
	}
}

// What is cut out of a file says the same as the whole, or nothing that a parser
// would take.
func FuzzTheCutFileSaysTheSame(f *testing.F) {
	for _, seed := range []string{
		"a: 1\nterminal:\n  timeout: 60\nskills: {external_dirs: [x]}\n", "---\nterminal:\n- a\n# b\n\n  c\n", "a: 1\n---\nterminal: 2\n",
		"terminal: |\n  text\n more\nb: 'c\n d'\n", "'terminal' : &x\n  a: b\nskills: *x\n", "terminal: 1\nterminal: 2\n", "a: [\n]\nterminal: {\n}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole, part struct{ Terminal, Skills any }
		if parse(data, &whole) != nil || parse(cut(data, "terminal", "skills"), &part) != nil {
			return
		}
		if !reflect.DeepEqual(whole, part) {
			t.Errorf("%q\nsays %v\nits part %q\nsays %v", data, whole, cut(data, "terminal", "skills"), part)
		}
	})
}

func TestAFileThatCannotBeUsedIsNamedAndShowsNoSecrets(t *testing.T) {
	for name, test := range map[string]struct{ file, why string }{
		"not YAML":           {"token: hunter2\nterminal: [\n", "config.yaml"},
		"a wrong line":       {"token: hunter2\n\nterminal:\n  cwd: 'x\n", "[4:"},
		"a section of text":  {"token: hunter2\nterminal: hunter2\n", "terminal in "},
		"a number in words":  {"terminal:\n  timeout: soon\n", `cannot use terminal.timeout="soon" in `},
		"a negative number":  {"terminal:\n  lifetime_seconds: -1\n", `cannot use terminal.lifetime_seconds="-1" in `},
		"a list of a number": {"terminal:\n  timeout: [1]\n", "whole number of seconds"},
	} {
		_, err := Load(inHome(t, test.file, nil))
		if err == nil || !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), test.why) || !strings.Contains(err.Error(), "config.yaml") {
			t.Errorf("%s: %v; want %q", name, err, test.why)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %q", name, err)
		}
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "config.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(from(map[string]string{"HERMES_HOME": home})); err == nil || !strings.Contains(err.Error(), "cannot read the configuration") {
		t.Errorf("a directory for a file: %v", err)
	}
}

func TestMountSettings(t *testing.T) {
	lookup := inHome(t, `
terminal:
  docker_volumes: ["/a:/b", " ./c:/d:ro ", 7, ""]
  docker_mount_cwd_to_workspace: true
  cwd: /src
  credential_files: [token.json, {path: x}]
skills:
  external_dirs: ~/skills
`, map[string]string{"TERMINAL_DOCKER_VOLUMES": `["/not:/this"]`, "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS": "On"})
	c, err := Load(lookup)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Mounts()
	ignored := got.Ignored
	got.Ignored = nil
	want := Mounts{Volumes: []string{"/a:/b", "./c:/d:ro"}, CwdToWorkspace: true, Cwd: "/src", SkipProfile: true,
		CredentialFiles: []string{"token.json"}, SkillDirs: []string{"~/skills"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if len(ignored) != 3 || !strings.Contains(ignored[0], "entry 3 of terminal.docker_volumes") || !strings.Contains(ignored[2], "entry 2 of terminal.credential_files") {
		t.Errorf("ignored: %q", ignored)
	}
}

func TestVolumesFromTheEnvironment(t *testing.T) {
	for value, test := range map[string]struct {
		want    []string
		ignored string
		wrong   bool
	}{
		`["/a:/b", "/c:/d"]`: {want: []string{"/a:/b", "/c:/d"}},
		`[]`:                 {},
		`null`:               {},
		`"/a:/b"`:            {ignored: "not a list"},
		`{"/a": "/b"}`:       {ignored: "not a list"},
		`[["/a:/b"]]`:        {ignored: "entry 1"},
		`/a:/b`:              {wrong: true},
		`["/a:/b"`:           {wrong: true},
	} {
		c, err := Load(from(map[string]string{"HERMES_HOME": t.TempDir(), "TERMINAL_DOCKER_VOLUMES": value}))
		if err != nil {
			t.Fatalf("%s stops what has no mounts: %v", value, err)
		}
		got, err := c.Mounts()
		if test.wrong {
			if err == nil || !strings.Contains(err.Error(), "TERMINAL_DOCKER_VOLUMES=") || !strings.Contains(err.Error(), "a JSON list") {
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got.Volumes, test.want) || !strings.Contains(strings.Join(got.Ignored, " "), test.ignored) || (test.ignored == "") != (len(got.Ignored) == 0) {
			t.Errorf("%s: %+v, %v", value, got, err)
		}
	}
}

func TestTheSwitchForProfileMounts(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "YES": true, "on": true, "": false, "0": false, "off": false, "maybe": false} {
		c, err := Load(from(map[string]string{"HERMES_HOME": t.TempDir(), "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS": value}))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := c.Mounts(); err != nil || m.SkipProfile != want {
			t.Errorf("%q: %v, %v", value, m.SkipProfile, err)
		}
	}
}

func TestTheEngineIsTheBackend(t *testing.T) {
	for name, test := range map[string]struct {
		file, variable, want string
	}{
		"neither":      {"", "", DefaultEngine},
		"the variable": {"", "local", "local"},
		"the file":     {"terminal:\n  backend: local\n", "", "local"},
		"both":         {"terminal:\n  backend: docker\n", "local", "docker"},
		"a synonym":    {"", "Bubblewrap", "native"},
	} {
		if c, err := Load(inHome(t, test.file, map[string]string{"TERMINAL_ENV": test.variable})); err != nil || c.Engine != test.want {
			t.Errorf("%s: %q, %v", name, c.Engine, err)
		}
	}
}
