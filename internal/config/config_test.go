package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func from(vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestDefaults(t *testing.T) {
	got, err := Load(from(map[string]string{"HOME": "/h", "USERPROFILE": "/h", "TERMINAL_TIMEOUT": "", "HERMES_HOME": " "}))
	if err != nil {
		t.Fatal(err)
	}
	home, _ := filepath.Abs("/h/.hermes")
	want := Config{Home: home, Engine: "native", SandboxRoot: filepath.Join(home, "sandboxes"), Timeout: 180 * time.Second, Lifetime: 300 * time.Second, OrphanReaper: true, Persistent: true}
	if got.settings = nil; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEveryVariableIsRead(t *testing.T) {
	got, err := Load(from(map[string]string{
		"HERMES_HOME": "/data", "TERMINAL_SANDBOX_DIR": "/fast", "TERMINAL_TIMEOUT": "7",
		"TERMINAL_LIFETIME_SECONDS": "8", "TERMINAL_DOCKER_ORPHAN_REAPER": "no", "TERMINAL_ENV": "Local",
		"TERMINAL_CONTAINER_PERSISTENT": "no",
	}))
	if err != nil {
		t.Fatal(err)
	}
	home, _ := filepath.Abs("/data")
	root, _ := filepath.Abs("/fast")
	want := Config{Home: home, Engine: "local", EngineFrom: "TERMINAL_ENV", SandboxRoot: root, Timeout: 7 * time.Second, Lifetime: 8 * time.Second}
	if got.settings = nil; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPathsAreMadeAbsolute(t *testing.T) {
	got, err := Load(from(map[string]string{"HOME": "/h", "USERPROFILE": "/h", "HERMES_HOME": "rel/home", "TERMINAL_SANDBOX_DIR": "~/boxes"}))
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.Abs("rel/home"); got.Home != want {
		t.Errorf("home %q, want %q", got.Home, want)
	}
	if want, _ := filepath.Abs("/h/boxes"); got.SandboxRoot != want {
		t.Errorf("root %q, want %q", got.SandboxRoot, want)
	}
}

func TestBooleans(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "TRUE": true, "1": true, "Yes": true, "false": false, "0": false, "on": false, "banana": false, "": true} {
		got, err := Load(from(map[string]string{"HERMES_HOME": "/d", "TERMINAL_DOCKER_ORPHAN_REAPER": value}))
		if err != nil || got.OrphanReaper != want {
			t.Errorf("%q: %v, %v; want %v", value, got.OrphanReaper, err, want)
		}
	}
}

func TestABadNumberIsNamedWithItsValueAndKind(t *testing.T) {
	for _, name := range []string{"TERMINAL_TIMEOUT", "TERMINAL_LIFETIME_SECONDS"} {
		for _, value := range []string{"soon", "1.5", "-1", "10s", "99999999999999999", "0x10"} {
			_, err := Load(from(map[string]string{"HERMES_HOME": "/d", name: value}))
			if err == nil {
				t.Errorf("%s=%q was taken", name, value)
				continue
			}
			for _, part := range []string{"cannot", name, `"` + value + `"`, "whole number of seconds"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s=%q: %q lacks %q", name, value, err, part)
				}
			}
		}
	}
}

func TestNoHomeIsAnErrorThatSaysWhatToSet(t *testing.T) {
	_, err := Load(from(nil))
	if err == nil || !strings.Contains(err.Error(), "HERMES_HOME") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(from(map[string]string{"HERMES_HOME": "/d"})); err != nil {
		t.Errorf("a home that is given needs no other: %v", err)
	}
}
