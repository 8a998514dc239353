package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestHowTheWebIsSearched(t *testing.T) {
	for text, want := range map[string]Web{
		"":                                    {},
		"web:\n":                              {},
		"web: {backend: '', fallback: []}":    {},
		"web: {backend: exa}":                 {Backend: "exa"},
		"web:\n  backend: ' search.exa '\n":   {Backend: "search.exa"},
		"web: {fallback: [exa, search.ddgs]}": {Fallback: []string{"exa", "search.ddgs"}},
		"web: {fallback: ddgs}":               {Fallback: []string{"ddgs"}},
	} {
		if got, err := loaded(t, text, nil).Web(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		"web: exa":                      "cannot use web in ",
		"web: {backend: [exa]}":         "expected the name of a search backend",
		"web: {backend: 'exa; rm'}":     "expected the name of a search backend",
		"web: {fallback: [exa, 7]}":     "expected a list of names",
		"web: {fallback: ['--retry']}":  "expected a list of names",
		"web: {fallback: {a: b}}":       "expected a list of names",
		"web: {fallback: 'exa, ddgs' }": "expected a list of names",
	} {
		if got, err := loaded(t, text, nil).Web(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestHowLongBackendsAreKept(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 10 * time.Minute, "addons: {idle: 90s}": 90 * time.Second, "addons: {idle: 30}": 30 * time.Second, "addons: {idle: '1h'}": time.Hour, "addons:\n": 10 * time.Minute,
	} {
		if got, err := loaded(t, text, nil).AddOnIdle(); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"addons: {idle: soon}", "addons: {idle: 0}", "addons: {idle: -5m}", "addons: {idle: 48h}", "addons: {idle: [1]}"} {
		if got, err := loaded(t, text, nil).AddOnIdle(); err == nil || !strings.Contains(err.Error(), "cannot use addons.idle") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestSettingsOfBackendsAreCheckedWhenTheyAreSet(t *testing.T) {
	home := t.TempDir()
	for key, value := range map[string]string{"web.backend": "exa", "web.fallback": "[parallel, ddgs]", "addons.idle": "5m"} {
		if err := Set(home, key, value); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for key, value := range map[string]string{"web.backend": "[1]", "web.fallback": "{a: b}", "addons.idle": "soon"} {
		if err := Set(home, key, value); err == nil || !strings.Contains(err.Error(), "cannot use "+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
