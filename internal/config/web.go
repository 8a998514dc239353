package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Web is by which backends the web is searched (web.backend and web.fallback in the file): the one that is preferred,
// and the others in the order in which they are tried. A name is that of a feature, with or without its namespace;
// whether there is one is for who has the list to say. Empty means that nobody chose.
type Web struct {
	Backend  string
	Fallback []string
}

// featureName is what the name of a backend may look like.
var featureName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)

// Web reads what is configured about searches.
func (c Config) Web() (w Web, err error) {
	s, err := c.door("web")
	if err != nil {
		return Web{}, err
	}
	if _, ok := section(s.sections["web"]); !ok {
		return Web{}, fmt.Errorf("cannot use web in %s: expected keys with values below it", s.path)
	}
	backend := s.either("", "web", "backend")
	if backend.setText(&w.Backend); w.Backend != "" && !featureName.MatchString(w.Backend) {
		return Web{}, backend.wrong("the name of a search backend, like exa")
	}
	fallback := s.either("", "web", "fallback")
	if text, single := fallback.value.(string); single {
		fallback.value = []any{text}
	}
	var ignored []string
	w.Fallback = fallback.texts(&ignored)
	if len(ignored) > 0 || slices.ContainsFunc(w.Fallback, func(name string) bool { return !featureName.MatchString(name) }) {
		return Web{}, fallback.wrong("a list of names of search backends, like [exa, ddgs]")
	}
	return w, nil
}

// How long backends of add-ons are kept.
const (
	DefaultAddOnIdle = 10 * time.Minute
	leastAddOnIdle   = time.Second
	mostAddOnIdle    = 24 * time.Hour
)

// AddOnIdle is how long a backend that nobody uses is kept warm (addons.idle in the file), as 90s, 10m or a number of
// seconds.
func (c Config) AddOnIdle() (time.Duration, error) {
	s, err := c.door("addons")
	if err != nil {
		return 0, err
	}
	idle := s.either("", "addons", "idle")
	if idle.value == nil {
		return DefaultAddOnIdle, nil
	}
	d, err := time.ParseDuration(idle.text())
	if seconds, number := strconv.ParseInt(idle.text(), 10, 32); number == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < leastAddOnIdle || d > mostAddOnIdle {
		return 0, idle.wrong("a time from 1s to 24h, like 10m, or a number of seconds")
	}
	return d, nil
}
