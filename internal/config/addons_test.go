package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhereTheStoreOfAddOnsIs(t *testing.T) {
	for name, test := range map[string]struct {
		vars   map[string]string
		want   string
		chosen bool
	}{
		"by name":      {map[string]string{"HERMES_HOME": "/h", LazyInstallTarget: " /data/lazy "}, "/data/lazy", true},
		"in the home":  {map[string]string{"HERMES_HOME": "/h"}, "/h/lazy-packages", false},
		"a blank name": {map[string]string{"HERMES_HOME": "/h", LazyInstallTarget: " \t"}, "/h/lazy-packages", false},
		"with a tilde": {map[string]string{"HOME": "/me", LazyInstallTarget: "~/lazy"}, "/me/lazy", true},
		"by default":   {map[string]string{"HOME": "/me"}, "/me/.hermes/lazy-packages", false},
	} {
		dir, chosen, err := AddOnStore(from(test.vars))
		if err != nil || dir != test.want || chosen != test.chosen {
			t.Errorf("%s: %s, %v, %v", name, dir, chosen, err)
		}
	}
	if dir, _, err := AddOnStore(from(nil)); err == nil {
		t.Errorf("without any home it is %s", dir)
	}
}

func TestWhatTheFileSaysOfLazyInstalls(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want bool
		why  string // of an error
	}{
		"nothing":                     {"", true, ""},
		"only comments":               {"# security:\n", true, ""},
		"another section":             {"terminal:\n  timeout: soon\n", true, ""},
		"no key":                      {"security:\n  other: 1\n", true, ""},
		"an empty section":            {"security:\n", true, ""},
		"an empty key":                {"security:\n  allow_lazy_installs:\n", true, ""},
		"an empty text":               {"security: {allow_lazy_installs: ' '}\n", true, ""},
		"true":                        {"security: {allow_lazy_installs: true}\n", true, ""},
		"a text that is true":         {"security: {allow_lazy_installs: 'Yes'}\n", true, ""},
		"on":                          {"security: {allow_lazy_installs: on}\n", true, ""},
		"one":                         {"security: {allow_lazy_installs: 1}\n", true, ""},
		"false":                       {"security: {allow_lazy_installs: false}\n", false, ""},
		"a mark before it":            {"\ufeffsecurity: {allow_lazy_installs: false}\n", false, ""},
		"False":                       {"security: {allow_lazy_installs: 'False'}\n", false, ""},
		"no":                          {"security: {allow_lazy_installs: no}\n", false, ""},
		"NO":                          {"security: {allow_lazy_installs: ' NO '}\n", false, ""},
		"zero":                        {"security: {allow_lazy_installs: 0}\n", false, ""},
		"zero as text":                {"security: {allow_lazy_installs: '0'}\n", false, ""},
		"off":                         {"security: {allow_lazy_installs: off}\n", false, ""},
		"neither":                     {"security: {allow_lazy_installs: hunter2}\n", false, "cannot use security.allow_lazy_installs in "},
		"a list":                      {"security: {allow_lazy_installs: [hunter2]}\n", false, "expected true or false"},
		"a section of text":           {"security: hunter2\n", false, "cannot use security in "},
		"a section that is a list":    {"security:\n- hunter2\n", false, "cannot use security in "},
		"a section that is a truth":   {"security: false\n", false, "cannot use security in "},
		"a file of text":              {"hunter2\n", false, "expected sections"},
		"a file that is a list":       {"- hunter2\n", false, "expected sections"},
		"a wrong line":                {"token: hunter2\nsecurity:\n  allow_lazy_installs: 'true\n", false, "[3:"},
		"a wrong line somewhere else": {"security:\n  allow_lazy_installs: true\nother: [\n", false, "[3:"},
	} {
		home := t.TempDir()
		if err := os.WriteFile(File(home), []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		allowed, err := AllowsLazyInstalls(home)
		if allowed != test.want || (err != nil) != (test.why != "") {
			t.Errorf("%s: %v, %v", name, allowed, err)
		}
		if err != nil && (!strings.Contains(err.Error(), test.why) || !strings.Contains(err.Error(), File(home)) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %q; want %q", name, err, test.why)
		}
	}
	if allowed, err := AllowsLazyInstalls(t.TempDir()); !allowed || err != nil {
		t.Errorf("without a file: %v, %v", allowed, err)
	}
	home := t.TempDir()
	if err := os.Mkdir(File(home), 0o700); err != nil {
		t.Fatal(err)
	}
	if allowed, err := AllowsLazyInstalls(home); allowed || err == nil || !strings.Contains(err.Error(), filepath.Base(File(home))) {
		t.Errorf("a directory as file: %v, %v", allowed, err)
	}
}

func TestSetTakesNoOddWordForLazyInstalls(t *testing.T) {
	home := t.TempDir()
	if err := Set(home, LazyInstallsKey, "sometimes"); err == nil || !strings.Contains(err.Error(), LazyInstallsKey) {
		t.Errorf("an odd word is set: %v", err)
	}
	if err := Set(home, LazyInstallsKey, "no"); err != nil {
		t.Error(err)
	}
	if allowed, err := AllowsLazyInstalls(home); allowed || err != nil {
		t.Errorf("%v, %v", allowed, err)
	}
}

func TestWhoManagesTheInstallation(t *testing.T) {
	for value, want := range map[string]string{
		"": "", " ": "", "0": "", "False": "", "no": "", "off": "", "homebrew": "homebrew", " NixOS ": "NixOS", "1": "system", "TRUE": "system", "yes": "system",
		"a b": "system", "x\x1b[2J": "system", strings.Repeat("x", 41): "system",
	} {
		if got := Manager(from(map[string]string{ManagedBy: value})); got != want {
			t.Errorf("%q is %q, not %q", value, got, want)
		}
	}
}
