package house

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/internal/version"
)

// How often parts are looked at when nobody asks, and how long a look may take.
const (
	servicesEvery  = time.Second
	sandboxesEvery = 2 * time.Second
	addonsEvery    = 5 * time.Second
	lookBound      = 2 * time.Second
)

// sight is what can be seen of a home, in parts that are looked at apart: one that does not answer keeps none of the
// others from being seen.
type sight struct {
	options   Options
	engines   survey.Engines
	services  *part[served]
	sandboxes *part[found]
	addons    *part[survey.Addons]
}

// served are the services, and the names of the profiles that have gateways among them.
type served struct {
	services []survey.Service
	profiles []string
	problem  string
}

// found are the sandboxes, and what makes them.
type found struct {
	engine   survey.Engine
	boxes    []survey.Box
	problem  string            // of the home's configuration
	profiles map[string]string // problems of the others', by name
}

func newSight(life context.Context, o Options) *sight {
	s := &sight{options: o, engines: survey.Engines{Home: o.Home, Makers: o.Makers}}
	s.services = &part[served]{life: life, every: servicesEvery, look: s.lookAtServices}
	s.sandboxes = &part[found]{life: life, every: sandboxesEvery, look: s.lookAtSandboxes}
	s.addons = &part[survey.Addons]{life: life, every: addonsEvery, look: o.Addons}
	return s
}

func (s *sight) close() { s.engines.Close() }

// now looks at all parts.
func (s *sight) now() survey.Overview {
	var looking sync.WaitGroup
	looking.Go(func() { s.services.now() })
	looking.Go(func() { s.sandboxes.now() })
	looking.Go(func() { s.addons.now() })
	looking.Wait()
	return s.seen()
}

// seen is what was seen last.
func (s *sight) seen() survey.Overview {
	services, sandboxes := s.services.seen(), s.sandboxes.seen()
	o := survey.Overview{Version: version.Current().String(), Home: s.options.Home, Engine: sandboxes.engine, Services: services.services,
		Profiles: profilesOf(services, sandboxes), Sandboxes: sandboxes.boxes, Addons: s.addons.seen()}
	var problems []string
	for _, p := range []string{services.problem, sandboxes.problem} {
		if p != "" {
			problems = append(problems, p)
		}
	}
	o.Problem = strings.Join(problems, "; ")
	return o
}

func profilesOf(services served, sandboxes found) []survey.Profile {
	all := []survey.Profile{}
	for _, name := range services.profiles {
		p := survey.Profile{Name: name, Problem: sandboxes.profiles[name]}
		for _, s := range services.services {
			if s.Kind == survey.Gateway && s.Profile == name {
				p.Gateway = &s
			}
		}
		all = append(all, p)
	}
	return all
}

func (s *sight) lookAtServices(ctx context.Context) served {
	services, err := survey.Services(ctx, s.options.Services)
	seen := served{services: services}
	if err != nil && !errors.Is(err, survey.ErrNoSupervisor) {
		seen.problem = err.Error()
	}
	if seen.profiles, err = s.options.Profiles(); err != nil {
		seen.problem = err.Error()
	}
	return seen
}

func (s *sight) lookAtSandboxes(ctx context.Context) found {
	seen := found{boxes: []survey.Box{}, profiles: map[string]string{}}
	names, err := s.options.Profiles()
	if err != nil {
		names = []string{profile.Default} // what is wrong is told with the services
	}
	var all []survey.Settings
	for _, name := range names {
		one, err := s.settings(name)
		if err != nil {
			seen.profiles[name] = err.Error()
			continue
		}
		if name == profile.Default {
			seen.engine = survey.Chosen(one.Config, slices.Sorted(maps.Keys(s.options.Makers)))
		}
		all = append(all, one)
	}
	if seen.problem = seen.profiles[profile.Default]; seen.problem != "" {
		seen.engine.Problem = "not known: " + seen.problem
	}
	if len(all) > 0 {
		listed := s.engines.List(ctx, all[0], all[1:]...)
		seen.engine.Judge(listed)
		seen.boxes = survey.Boxes(ctx, listed)
	}
	return seen
}

func (s *sight) settings(name string) (survey.Settings, error) {
	lookup, err := s.options.Settings(name)
	if err != nil {
		return survey.Settings{}, err
	}
	c, err := configured.Options{Lookup: lookup, Home: s.options.Home, Profile: name}.Load()
	if err != nil {
		return survey.Settings{}, fmt.Errorf("cannot use the configuration of %q: %w", name, err)
	}
	return survey.Settings{Lookup: lookup, Config: c}, nil
}
