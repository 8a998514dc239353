package choice

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

var list = []feature.Feature{
	{Name: "provider.x"},
	{Name: "search.ddgs", Entry: "adapter:ddgs"},
	{Name: "search.exa", Entry: "adapter:exa", Credentials: []string{"EXA_API_KEY"}, Settings: []string{"EXA_BASE_URL"}},
	{Name: "search.old"},
	{Name: "search.parallel", Entry: "adapter:parallel", Credentials: []string{"PARALLEL_API_KEY"}},
	{Name: "tts.edge", Entry: "adapter:edge"},
}

func from(vars map[string]string) config.Lookup {
	return func(name string) (string, bool) { value, found := vars[name]; return value, found }
}

func names(features []feature.Feature) string {
	var all []string
	for _, f := range features {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

func TestWhichFeaturesANameMeans(t *testing.T) {
	for what, test := range map[string]struct {
		name string
		web  config.Web
		vars map[string]string
		want string
	}{
		"a feature":                    {"search.exa", config.Web{Backend: "ddgs"}, nil, "search.exa"},
		"a search":                     {"search", config.Web{}, nil, "search.ddgs"},
		"a search with a key":          {"search", config.Web{}, map[string]string{"PARALLEL_API_KEY": "k"}, "search.parallel search.ddgs"},
		"a search with an empty key":   {"search", config.Web{}, map[string]string{"PARALLEL_API_KEY": ""}, "search.ddgs"},
		"a search with two keys":       {"search", config.Web{}, map[string]string{"PARALLEL_API_KEY": "k", "EXA_API_KEY": "k"}, "search.exa search.parallel search.ddgs"},
		"a setting is no key":          {"search", config.Web{}, map[string]string{"EXA_BASE_URL": "k"}, "search.ddgs"},
		"a choice":                     {"search", config.Web{Backend: "exa"}, map[string]string{"PARALLEL_API_KEY": "k"}, "search.exa"},
		"a choice, and another one":    {"search", config.Web{Backend: "search.exa", Fallback: []string{"ddgs", "exa", "parallel"}}, nil, "search.exa search.ddgs search.parallel"},
		"an order without a first one": {"search", config.Web{Fallback: []string{"parallel", "ddgs"}}, nil, "search.parallel search.ddgs"},
	} {
		got, err := Features(test.name, list, test.web, from(test.vars))
		if err != nil || names(got) != test.want {
			t.Errorf("%s: %s, %v", what, names(got), err)
		}
	}
	for what, test := range map[string]struct {
		name string
		web  config.Web
		why  string
	}{
		"no feature":           {"search.exo", config.Web{}, "not in the allowlist"},
		"another namespace":    {"tts", config.Web{}, `perhaps "tts.edge" was meant`},
		"a library":            {"provider.x", config.Web{}, "has no tools"},
		"a choice of nothing":  {"search", config.Web{Backend: "tavily"}, `cannot search with "tavily": this hermes has ddgs, exa, parallel`},
		"a choice of a voice":  {"search", config.Web{Backend: "tts.edge"}, `cannot search with "tts.edge"`},
		"an order with a hole": {"search", config.Web{Backend: "exa", Fallback: []string{"old"}}, `cannot search with "old"`},
	} {
		if got, err := Features(test.name, list, test.web, from(nil)); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %s, %v", what, names(got), err)
		}
	}
}

func TestAFeatureIsGivenWhatItDeclaresAndNoMore(t *testing.T) {
	got := Variables(list[2], from(map[string]string{"EXA_API_KEY": "k", "EXA_BASE_URL": " ", "PARALLEL_API_KEY": "other", "PATH": "/bin"}))
	if len(got) != 1 || got["EXA_API_KEY"] != "k" {
		t.Errorf("%v", got)
	}
}

func TestTheNextOneIsAskedWhenOneDoesNotAnswer(t *testing.T) {
	gone := func(f feature.Feature) error {
		return unavailable.Because(unavailable.Backend, errors.New("it crashed"), "").For(f.Name, nil)
	}
	for what, test := range map[string]struct {
		answers map[string]any // an error, or whether it failed
		asked   string
		by      string
		failed  bool
		err     string
	}{
		"the first":               {map[string]any{"search.ddgs": false}, "search.ddgs", "search.ddgs", false, ""},
		"the second":              {map[string]any{"search.ddgs": gone(list[1]), "search.exa": false}, "search.ddgs search.exa", "search.exa", false, ""},
		"after one that failed":   {map[string]any{"search.ddgs": true, "search.exa": false}, "search.ddgs search.exa", "search.exa", false, ""},
		"none, all unavailable":   {map[string]any{"search.ddgs": gone(list[1]), "search.exa": gone(list[2])}, "search.ddgs search.exa", "search.ddgs", false, `feature "search.exa" is unavailable`},
		"none, one that answered": {map[string]any{"search.ddgs": gone(list[1]), "search.exa": true}, "search.ddgs search.exa", "search.exa", true, ""},
		"no time left":            {map[string]any{"search.ddgs": context.DeadlineExceeded}, "search.ddgs", "search.ddgs", false, "deadline"},
	} {
		var asked []feature.Feature
		by, result, err := First(list[1:3], func(f feature.Feature) (backend.Result, error) {
			asked = append(asked, f)
			if err, is := test.answers[f.Name].(error); is {
				return backend.Result{}, err
			}
			return backend.Result{Failed: test.answers[f.Name].(bool)}, nil
		})
		if names(asked) != test.asked || by.Name != test.by || result.Failed != test.failed || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: asked %s, answered by %s, %+v, %v", what, names(asked), by.Name, result, err)
		}
	}
	if _, _, err := First(nil, nil); err == nil {
		t.Error("nobody answered")
	}
}
