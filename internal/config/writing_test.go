package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheRootsThatMayBeWrittenIn(t *testing.T) {
	for value, want := range map[string][]string{
		"": nil, "  ": nil, "/srv/work": {"/srv/work"}, "/srv/work/:/opt/data": {"/srv/work", "/opt/data"}, " /a : :/b/../c ": {"/a", "/c"}, "/": {"/"},
		"~/work": {"/people/me/work"},
	} {
		c := loaded(t, "", map[string]string{"HERMES_WRITE_SAFE_ROOT": value, "HOME": "/people/me"})
		got, err := c.WriteRoots()
		if err != nil || !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	for value, why := range map[string]string{":": "names no directory", " : ": "names no directory", "work": `"work" is not an absolute path`, "/a:b": `"b" is not`} {
		c := loaded(t, "", map[string]string{"HERMES_WRITE_SAFE_ROOT": value})
		if got, err := c.WriteRoots(); err == nil || got != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %q, %v", value, got, err)
		}
		if _, err := c.Tools(); err == nil {
			t.Errorf("%q: the tools may write everywhere", value)
		}
	}
}

func TestCredentialsAreProtected(t *testing.T) {
	c := loaded(t, "terminal: {credential_files: [\"keys/to*ken\", ../escaped]}", map[string]string{"HOME": "/people/me"})
	if err := os.MkdirAll(filepath.Join(c.Home, "profiles", "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	tools, err := c.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []ProtectedFiles{
		{c.Home, ".env", ""}, {c.Home, "auth.json", ""}, {filepath.Join(c.Home, "profiles", "other"), ".env", ""}, {filepath.Join(c.Home, "keys"), `to\*ken`, ""},
		{"/people/me/.ssh", "id_*", "*.pub"}, {"/people/me", ".netrc", ""},
	} {
		if !slices.Contains(tools.Protected, want) {
			t.Errorf("%+v is missing in %+v", want, tools.Protected)
		}
	}
	for _, p := range tools.Protected {
		if _, err := filepath.Match(p.Names, ""); err != nil || !filepath.IsAbs(p.Dir) || strings.Contains(p.Names, "escaped") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
