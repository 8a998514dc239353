package survey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
)

// Engine is what sandboxes would be made by.
type Engine struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Problem is why it cannot be used.
	Problem string `json:"problem,omitempty"`
}

// Chosen is the engine that a configuration chooses among those that there are.
func Chosen(c config.Config, known []string) Engine {
	choice := Engine{Name: c.Engine, Why: "the default"}
	switch {
	case c.EngineFrom != "":
		choice.Why = c.EngineFrom + " says so"
	case c.Engine == config.ImageEngine:
		choice.Why = "the default in Hermes' own image, where the container is the boundary"
	}
	if !slices.Contains(known, c.Engine) {
		choice.Problem = fmt.Sprintf("this hermes has %s", strings.Join(known, ", "))
	}
	return choice
}

// Judge says why the engine cannot be used, by what was found out about all. Podman takes the place of a Docker that is
// not there.
func (e *Engine) Judge(all []Listed) {
	byName := map[string]Listed{}
	for _, l := range slices.Backward(all) { // the first is the one of the configuration
		byName[l.Engine] = l
	}
	chosen, podman := byName[e.Name], byName[string(daemon.Podman)]
	switch {
	case e.Problem != "" || chosen.Problem == "":
	case e.Name == string(daemon.Docker) && chosen.Absent && podman.Problem == "":
		e.Why += "; Podman takes its place"
	default:
		e.Problem = chosen.Problem
	}
}

// Listed is what one engine has of a home's sandboxes.
type Listed struct {
	Engine string
	Infos  []sandbox.Info
	// Problem is why it could not be asked, and Absent that there is none on this machine.
	Problem string
	Absent  bool

	manager *sandbox.Manager
}

// Settings are one profile's configuration, and the environment that it was read in.
type Settings struct {
	Lookup config.Lookup
	Config config.Config
}

// Engines are all that may have sandboxes of a home. Those that answered stay open from one look to the next: a daemon
// need not be searched for each time. It is used by one goroutine at a time. Its life: the zero value with its exported
// fields, any number of calls of List, Close.
type Engines struct {
	Home   string
	Makers map[string]configured.Maker

	mu   sync.Mutex // of those that List asks at once
	open map[place]*sandbox.Manager
}

// place is where sandboxes may be: an engine, the directory of its files, the daemon that is asked for.
type place struct{ engine, root, host string }

// List asks every engine, with the first settings all that there are and with the others the one that they choose.
func (e *Engines) List(ctx context.Context, first Settings, others ...Settings) []Listed {
	var places []place
	by := map[place]Settings{}
	add := func(name string, s Settings) {
		host, _ := s.Lookup("DOCKER_HOST")
		p := place{name, s.Config.SandboxRoot, host}
		if _, there := by[p]; !there && e.Makers[name] != nil {
			by[p], places = s, append(places, p)
		}
	}
	add(first.Config.Engine, first)
	for _, name := range slices.Sorted(maps.Keys(e.Makers)) {
		add(name, first)
	}
	for _, s := range others {
		add(s.Config.Engine, s)
	}
	all := make([]Listed, len(places))
	var looking sync.WaitGroup
	for i, p := range places {
		looking.Go(func() { all[i] = e.list(ctx, p, by[p]) })
	}
	looking.Wait()
	return all
}

func (e *Engines) list(ctx context.Context, p place, s Settings) Listed {
	found := Listed{Engine: p.engine}
	err := func() (err error) {
		if found.manager, err = e.manager(ctx, p, s); err != nil {
			return err
		}
		if found.Infos, err = found.manager.List(ctx, e.Home); err != nil {
			e.forget(p)
		}
		return err
	}()
	var missing *daemon.Error
	switch {
	case errors.As(err, &missing): // "hermes doctor" has the whole of it, with what to do
		found.Problem, found.Absent = missing.Why, missing.Reason == daemon.NotFound
	case err != nil && ctx.Err() != nil:
		found.Problem = "it does not answer in time"
	case err != nil:
		found.Problem = err.Error()
	}
	return found
}

func (e *Engines) manager(ctx context.Context, p place, s Settings) (*sandbox.Manager, error) {
	e.mu.Lock()
	m := e.open[p]
	e.mu.Unlock()
	if m != nil {
		return m, nil
	}
	// What of the settings is left out of account is for who uses the engine.
	m, err := configured.OtherManager(ctx, configured.Options{Lookup: s.Lookup, Home: e.Home, Makers: e.Makers}, s.Config, p.engine)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[place]*sandbox.Manager{}
	}
	e.open[p] = m
	return m, nil
}

// forget lets the next look search anew.
func (e *Engines) forget(p place) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[p].Close() // it holds no sandbox
	delete(e.open, p)
}

// Close lets go of all engines. The next look opens them again.
func (e *Engines) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.open {
		m.Close() // it holds no sandbox
	}
	e.open = nil
}
