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

func TestParseMount(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	lookup := lookupIn(map[string]string{"HOME": dir})
	for flag, want := range map[string]sandbox.Mount{
		"/src:/dst":        {Source: "/src", Target: "/dst"},
		"/src:/dst:ro":     {Source: "/src", Target: "/dst", ReadOnly: true},
		"/src:/dst:rw":     {Source: "/src", Target: "/dst"},
		"~/x:/dst":         {Source: dir + "/x", Target: "/dst"},
		"~:/dst":           {Source: dir, Target: "/dst"},
		"rel/x:/dst":       {Source: dir + "/rel/x", Target: "/dst"},
		".:/dst:ro":        {Source: dir, Target: "/dst", ReadOnly: true},
		"link/sub:/dst":    {Source: dir + "/sub", Target: "/dst"},
		"/with space:/d d": {Source: "/with space", Target: "/d d"},
		"c:/dst":           {Source: dir + "/c", Target: "/dst"},
	} {
		if got, err := parseMount(lookup, flag); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", flag, got, err, want)
		}
	}
	for flag, why := range map[string]string{
		"":               "source and a target",
		"/src":           "source and a target",
		":/dst":          "source and a target",
		"/src:":          "source and a target",
		"/src:/dst:":     "last part",
		"/src:/dst:wr":   "last part",
		"/a:/b:/c:ro":    "source and a target",
		`C:\src:/dst`:    "Windows",
		`C:/src:/dst`:    "Windows",
		`C:\src:/dst:ro`: "Windows",
		`\\host\x:/dst`:  "Windows",
	} {
		got, err := parseMount(lookup, flag)
		if err == nil || !isA[*usageError](err) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %+v, %v; want a line about %q", flag, got, err, why)
		}
	}
}

func TestHermesOwnFilesAreNotMounted(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(base, "run"))
	os.MkdirAll(filepath.Join(base, "run"), 0o700)
	os.MkdirAll(filepath.Join(base, "user", "project"), 0o700)
	if err := os.Symlink(filepath.Join(base, "user"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	c := config.Config{Home: filepath.Join(base, "link", ".hermes"), SandboxRoot: filepath.Join(base, "link", ".hermes", "sandboxes")}
	for flag, allowed := range map[string]bool{
		"user/project:/x": true,
		"user:/x":         false,
		"user:/x:ro":      true,
		"user/.hermes:/x": false,
		"user/.hermes/sandboxes/native/a/work:/x":    false,
		"user/.hermes/sandboxes/native/a/work:/x:ro": true,
		"run:/x":           false,
		"run:/x:ro":        false,
		"run/hermes/x:/x":  false,
		"run/somebody:/x":  true,
		"user/.hermesx:/x": true,
	} {
		_, err := mounts(c, lookupIn(nil), false, []string{filepath.Join(base, flag)})
		if (err == nil) != allowed {
			t.Errorf("%s: allowed should be %v, got %v", flag, allowed, err)
		}
	}
	t.Chdir(filepath.Join(base, "user"))
	if _, err := mounts(c, lookupIn(nil), true, nil); err == nil {
		t.Error("--here in the directory that holds the home was allowed")
	}
	t.Chdir("/")
	if _, err := mounts(c, lookupIn(nil), true, nil); err == nil || !strings.Contains(err.Error(), "whole machine") {
		t.Errorf("--here in /: %v", err)
	}
}
