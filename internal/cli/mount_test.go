//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

func TestMountFlags(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(base, "run"))
	for _, dir := range []string{"run", "user/project"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(lookupIn(map[string]string{"HERMES_HOME": filepath.Join(base, "user", ".hermes")}))
	if err != nil {
		t.Fatal(err)
	}
	given := func(here bool, flags ...string) ([]sandbox.Mount, error) {
		return givenMounts(c, lookupIn(nil), here, flags)
	}

	t.Chdir(filepath.Join(base, "user", "project"))
	list, err := given(true, "/src:/dst:ro")
	want := []sandbox.Mount{{Source: filepath.Join(base, "user", "project"), Target: sandbox.Workspace}, {Source: "/src", Target: "/dst", ReadOnly: true}}
	if err != nil || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("got %v, %v; want %v", list, err, want)
	}
	for flag, why := range map[string]string{
		"/src":                              "write SOURCE:TARGET",
		"/src:/dst:wr":                      "neither",
		filepath.Join(base, "user") + ":/x": "own files",
	} {
		if _, err := given(false, flag); err == nil || !isA[*usageError](err) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want a line about %q", flag, err, why)
		}
	}
	t.Chdir(filepath.Join(base, "user"))
	if _, err := given(true); err == nil || !strings.Contains(err.Error(), "own files") {
		t.Errorf("--here in the directory that holds the home: %v", err)
	}
	t.Chdir("/")
	if _, err := given(true); err == nil || !strings.Contains(err.Error(), "whole machine") {
		t.Errorf("--here in /: %v", err)
	}
}
