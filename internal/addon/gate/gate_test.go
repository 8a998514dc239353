package gate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// settings are those of one question: a home with this file in it, if there is one, and variables.
func settings(t *testing.T, file string, vars map[string]string) (home string, lookup config.Lookup) {
	t.Helper()
	home = t.TempDir()
	if file != "" {
		if err := os.WriteFile(config.File(home), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, func(name string) (string, bool) {
		if name == "HERMES_HOME" {
			return home, true
		}
		value, found := vars[name]
		return value, found
	}
}

const target = "/somewhere/lazy"

// The whole table: what the file says × the seal × the target.
func TestTheTruthTable(t *testing.T) {
	const flag, seal = config.LazyInstallsKey, config.DisableLazyInstalls
	for _, row := range []struct {
		file, seal, target string
		cause              string // of the refusal, or none
	}{
		{"security: {allow_lazy_installs: false}", "", "", flag},
		{"security: {allow_lazy_installs: false}", "", target, flag},
		{"security: {allow_lazy_installs: false}", "1", "", flag},
		{"security: {allow_lazy_installs: false}", "1", target, flag},
		{"security: {allow_lazy_installs: true}", "", "", ""},
		{"security: {allow_lazy_installs: true}", "", target, ""},
		{"security: {allow_lazy_installs: true}", "1", "", seal},
		{"security: {allow_lazy_installs: true}", "1", target, ""},
		{"", "", "", ""},
		{"", "", target, ""},
		{"", "1", "", seal},
		{"", "1", target, ""},
		{"", "1", "  ", seal},
		{"", "", "  ", ""},
		{"security: [", "", "", flag},
		{"security: [", "", target, flag},
		{"security: [", "1", "", flag},
		{"security: [", "1", target, flag},
	} {
		home, lookup := settings(t, row.file, map[string]string{seal: row.seal, config.LazyInstallTarget: row.target})
		v := Ask(lookup)
		if v.Allowed() != (row.cause == "") || v.Switch != row.cause {
			t.Errorf("%+v: %v because of %q", row, v.Allowed(), v.Switch)
		}
		want := filepath.Join(home, "lazy-packages")
		if strings.TrimSpace(row.target) != "" {
			want = target
		}
		if v.Destination != want {
			t.Errorf("%+v: into %s", row, v.Destination)
		}
		if !v.Allowed() && !errors.Is(v.Refusal, unavailable.Disabled) {
			t.Errorf("%+v: %v", row, v.Refusal)
		}
	}
}

// Whatever the settings are, there is one place only, and it is never where the interpreter is.
func TestD49TheOnlyDestinationIsTheStore(t *testing.T) {
	for _, sealed := range []string{"", "1"} {
		for _, manager := range []string{"", "homebrew"} {
			for _, chosen := range []string{"", target} {
				home, lookup := settings(t, "", map[string]string{
					config.DisableLazyInstalls: sealed, config.ManagedBy: manager, config.LazyInstallTarget: chosen,
					"VIRTUAL_ENV": "/opt/hermes/.venv", "HERMES_RUNTIME": "/opt/hermes/.venv", "PIP_TARGET": "/elsewhere",
				})
				if v := Ask(lookup); !slices.Contains([]string{target, filepath.Join(home, "lazy-packages")}, v.Destination) {
					t.Errorf("sealed %q, managed %q, target %q: into %q", sealed, manager, chosen, v.Destination)
				}
			}
		}
	}
}

func TestD43TheGateReadsWhatIsMeant(t *testing.T) {
	for _, no := range []string{`"false"`, `"False"`, `"no"`, `"0"`, `"off"`, "no", "0", "off", "false", "sometimes", "[true]", "{}"} {
		_, lookup := settings(t, "security:\n  allow_lazy_installs: "+no+"\n", nil)
		if Ask(lookup).Allowed() {
			t.Errorf("the flag %s allows", no)
		}
	}
	for _, yes := range []string{`"true"`, "yes", "on", "1", "", "null"} {
		_, lookup := settings(t, "security:\n  allow_lazy_installs: "+yes+"\n", nil)
		if v := Ask(lookup); !v.Allowed() {
			t.Errorf("the flag %q refuses: %v", yes, v.Refusal)
		}
	}
	for value, sealed := range map[string]bool{"1": true, "true": true, "TRUE": true, "Yes": true, " yes ": true, "0": false, "false": false, "no": false, "": false, "2": false} {
		_, lookup := settings(t, "", map[string]string{config.DisableLazyInstalls: value})
		if Ask(lookup).Allowed() == sealed {
			t.Errorf("the seal %q: sealed should be %v", value, sealed)
		}
	}
	for name, test := range map[string]struct{ file, why string }{
		"a broken line":     {"token: hunter2\nsecurity:\n  allow_lazy_installs: 'true\n", "config.yaml: [3:"},
		"a broken line far": {"security:\n  allow_lazy_installs: true\ntoken: {hunter2\n", "config.yaml: ["},
		"no section":        {"security: hunter2\n", "cannot use security in "},
		"no sections":       {"hunter2", "config.yaml"},
	} {
		home, lookup := settings(t, test.file, nil)
		v := Ask(lookup)
		if v.Allowed() {
			t.Errorf("%s allows", name)
			continue
		}
		line := v.Refusal.Error()
		if !strings.Contains(line, test.why) || !strings.Contains(line, home) || strings.Contains(line, "hunter2") || !strings.Contains(line, "lazy installs disabled") {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// Each refusal names the one setting that it comes from, and none that is innocent.
func TestD44TheRefusalNamesItsOwnSwitch(t *testing.T) {
	all := []string{config.LazyInstallsKey, config.DisableLazyInstalls, config.ManagedBy}
	for cause, test := range map[string]struct {
		file   string
		vars   map[string]string
		reason string
		next   string
	}{
		config.LazyInstallsKey: {"security: {allow_lazy_installs: false}", map[string]string{config.DisableLazyInstalls: "1"},
			"lazy installs disabled by security.allow_lazy_installs in ", `hermes config set security.allow_lazy_installs true`},
		config.DisableLazyInstalls: {"", map[string]string{config.DisableLazyInstalls: "true"},
			"lazy installs disabled by HERMES_DISABLE_LAZY_INSTALLS", "set HERMES_LAZY_INSTALL_TARGET to "},
		config.ManagedBy: {"security: {allow_lazy_installs: false}", map[string]string{config.DisableLazyInstalls: "1", config.ManagedBy: "homebrew"},
			"unsupported on homebrew-managed installs", "set HERMES_LAZY_INSTALL_TARGET to "},
	} {
		_, lookup := settings(t, test.file, test.vars)
		v := Ask(lookup)
		if v.Allowed() || v.Switch != cause {
			t.Errorf("%s: refused because of %q", cause, v.Switch)
			continue
		}
		line := v.Refusal.For("search.exa", []string{"exa-py==2.10.2"}).Error()
		if !strings.HasPrefix(v.Refusal.Reason, test.reason) || !strings.Contains(line, test.next) || !strings.Contains(line, `pip install "exa-py==2.10.2"`) {
			t.Errorf("%s: %s", cause, line)
		}
		for _, other := range all {
			if other != cause && strings.Contains(line, other) {
				t.Errorf("%s: it blames %s: %s", cause, other, line)
			}
		}
	}
}

// Only who starts Hermes lets code of packages run before it is checked: the file of settings is the agent's.
func TestD42BuildingNeedsTheOperator(t *testing.T) {
	lookup := func(value string) config.Lookup {
		return func(name string) (string, bool) { return value, name == "HERMES_ADDON_BUILD_FROM_SOURCE" }
	}
	for value, allowed := range map[string]bool{"": false, "0": false, "false": false, "perhaps": false, "1": true, "true": true, "Yes": true} {
		refused := AskSource(lookup(value), []string{"pilk==0.2.4"})
		if (refused == nil) != allowed {
			t.Errorf("%q: %v", value, refused)
		}
		if AskSource(lookup(value), nil) != nil {
			t.Errorf("%q: nothing to build needs leave", value)
		}
		if refused == nil {
			continue
		}
		for _, word := range []string{"pilk==0.2.4", "HERMES_ADDON_BUILD_FROM_SOURCE=1"} {
			if !errors.Is(refused, unavailable.Disabled) || !strings.Contains(refused.Error(), word) {
				t.Errorf("no %q in %q", word, refused)
			}
		}
	}
}

func TestAManagedSystemNeedsATarget(t *testing.T) {
	vars := map[string]string{config.ManagedBy: "nixos"}
	_, lookup := settings(t, "", vars)
	if v := Ask(lookup); v.Allowed() || !errors.Is(v.Refusal, unavailable.Unsupported) || !strings.HasPrefix(v.Refusal.Reason, "unsupported on nixos-managed installs") {
		t.Errorf("without a target: %v", v.Refusal)
	}
	vars[config.LazyInstallTarget] = target
	if v := Ask(lookup); !v.Allowed() || v.Destination != target {
		t.Errorf("with a target: %+v", v)
	}
}

func TestWithoutAHomeNothingIsInstalled(t *testing.T) {
	vars := map[string]string{config.LazyInstallTarget: target}
	v := Ask(func(name string) (string, bool) { return vars[name], vars[name] != "" })
	if v.Allowed() || v.Switch != "HERMES_HOME" {
		t.Errorf("%+v", v)
	}
}

func TestAnswersToThePrompt(t *testing.T) {
	for answer, want := range map[string]bool{
		"\n": true, "y\n": true, "Y\n": true, "yes\n": true, " YES \r\n": true, "y": true,
		"": false, "n\n": false, "no\n": false, "yep\n": false, "install\n": false, "\x03\n": false,
	} {
		var out strings.Builder
		if got := Confirm(strings.NewReader(answer), &out, "search.exa", []string{"exa-py==2.10.2", "b"}); got != want {
			t.Errorf("%q means %v", answer, got)
		}
		if !strings.HasPrefix(out.String(), "Install search.exa (exa-py==2.10.2, b)? [Y/n] ") {
			t.Errorf("%q", out.String())
		}
	}
	in := strings.NewReader("y\nfor another")
	confirmed := Confirm(in, io.Discard, "a.b", nil)
	if rest, err := io.ReadAll(in); !confirmed || string(rest) != "for another" {
		t.Errorf("%v, and what is left is %q, %v", confirmed, rest, err)
	}
}
