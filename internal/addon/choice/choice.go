// Package choice says which features a name means, what of a caller's variables they are given, and what happens when
// the first of them does not answer. Every door to add-ons uses it, so that all of them choose alike.
package choice

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// Search is the namespace in which the configuration chooses, and keyless the one of its features that everybody can
// use.
const (
	Search  = "search"
	keyless = Search + ".ddgs"
)

// UnknownError says that the configuration names a backend that there is not.
type UnknownError struct{ message string }

func (e *UnknownError) Error() string { return e.message }

// Features are those that a name means, in the order in which they are to be tried: a feature by its own name, or with
// Search those by which the configuration has the web searched. Where it does not say, these are the ones for which
// somebody has set a credential, and the one that needs none.
func Features(name string, list []feature.Feature, web config.Web, lookup config.Lookup) ([]feature.Feature, error) {
	if name == Search {
		return searches(list, web, lookup)
	}
	f, found := find(list, name)
	switch {
	case !found:
		return nil, unavailable.NotListed(name, closest(list, name))
	case f.Entry == "":
		return nil, unavailable.Because(unavailable.Unsupported, errors.New("it is a library that others use, and has no tools"), `"hermes addon tools" lists the features that have`).For(name, nil)
	}
	return []feature.Feature{f}, nil
}

func find(list []feature.Feature, name string) (feature.Feature, bool) {
	i := slices.IndexFunc(list, func(f feature.Feature) bool { return f.Name == name })
	if i < 0 {
		return feature.Feature{}, false
	}
	return list[i], true
}

// closest are those of a namespace, if it is one, else names like it.
func closest(list []feature.Feature, name string) (names []string) {
	for _, f := range list {
		if f.Namespace() == name && f.Entry != "" {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		return names
	}
	return feature.Closest(name)
}

func searches(list []feature.Feature, web config.Web, lookup config.Lookup) (chosen []feature.Feature, err error) {
	if web.Backend == "" && len(web.Fallback) == 0 {
		return defaults(list, lookup), nil
	}
	names := web.Fallback
	if web.Backend != "" {
		names = append([]string{web.Backend}, names...)
	}
	for _, name := range names {
		f, found := find(list, Search+"."+strings.TrimPrefix(name, Search+"."))
		if !found || f.Entry == "" {
			return nil, &UnknownError{fmt.Sprintf("cannot search with %q: this hermes has %s; set web.backend and web.fallback to some of them", name, strings.Join(searchable(list), ", "))}
		}
		if !slices.ContainsFunc(chosen, func(c feature.Feature) bool { return c.Name == f.Name }) {
			chosen = append(chosen, f)
		}
	}
	return chosen, nil
}

func searchable(list []feature.Feature) (names []string) {
	for _, f := range list {
		if f.Namespace() == Search && f.Entry != "" {
			names = append(names, strings.TrimPrefix(f.Name, Search+"."))
		}
	}
	return names
}

func defaults(list []feature.Feature, lookup config.Lookup) (chosen []feature.Feature) {
	for _, f := range list {
		isSet := func(name string) bool { value, _ := lookup(name); return value != "" }
		if f.Namespace() == Search && f.Entry != "" && f.Name != keyless && slices.ContainsFunc(f.Credentials, isSet) {
			chosen = append(chosen, f)
		}
	}
	if f, found := find(list, keyless); found && f.Entry != "" {
		chosen = append(chosen, f)
	}
	return chosen
}

// Variables are those that a feature declares, as far as they are set. It is given no others.
func Variables(f feature.Feature, lookup config.Lookup) map[string]string {
	return f.Given(func(name string) string {
		value, _ := lookup(name)
		if strings.TrimSpace(value) == "" {
			return ""
		}
		return value
	})
}

// First calls features in order until one answers, and returns which. One that says that it failed has not: its key
// may be refused, or its quota used up, and that is what the others are for. If none answers it is the first failure
// that counts, of what a tool said before what kept others from being asked.
func First(features []feature.Feature, call func(feature.Feature) (backend.Result, error)) (feature.Feature, backend.Result, error) {
	var failed backend.Result
	var by feature.Feature
	var reasons []error
	for _, f := range features {
		result, err := call(f)
		var known *unavailable.Error
		switch {
		case err == nil && !result.Failed:
			return f, result, nil
		case err == nil && by.Name == "":
			failed, by = result, f
		case err != nil && !errors.As(err, &known):
			return f, result, err // the caller is gone, or his time is over
		case err != nil:
			reasons = append(reasons, err)
		}
	}
	switch {
	case by.Name != "":
		return by, failed, nil
	case len(reasons) == 1:
		return features[0], backend.Result{}, reasons[0]
	case len(reasons) == 0:
		return feature.Feature{}, backend.Result{}, &UnknownError{"cannot search: this hermes has no search backends"}
	}
	return features[0], backend.Result{}, fmt.Errorf("cannot get an answer of any: %w", errors.Join(reasons...))
}
