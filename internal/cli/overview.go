package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/internal/version"
	"hermes.example/hermes/sandbox"
)

// overview is what there is on this machine. What could not be found out says why, and keeps nothing else from
// being told.
type overview struct {
	Version   string         `json:"version"`
	Home      string         `json:"home"`
	Problem   string         `json:"problem,omitempty"` // of the configuration: nothing below is known then
	Agents    []agentState   `json:"profiles"`
	Services  []serviceState `json:"services"`
	Engine    engineChoice   `json:"engine"`
	Sandboxes []engineCount  `json:"sandboxes"`
	Addons    addonCount     `json:"addons"`
	Next      []suggestion   `json:"next"`
}

// agentState is a profile and its gateway.
type agentState struct {
	Profile string `json:"profile"`
	// Gateway is how it is, in the words of "hermes gateway status".
	Gateway string `json:"gateway"`
	condition
}

// serviceState is a service that is no gateway.
type serviceState struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	condition
}

// condition is whether somebody keeps a service, whether it is there, and whether it is to be and is not.
type condition struct {
	Supervised bool `json:"supervised"`
	Up         bool `json:"up"`
	Failing    bool `json:"failing"`
}

// engineChoice is what sandboxes would be made by.
type engineChoice struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Problem is why it cannot be used.
	Problem string `json:"problem,omitempty"`
}

// engineCount is how many sandboxes an engine has.
type engineCount struct {
	Engine  string `json:"engine"`
	Running int    `json:"running"`
	Stopped int    `json:"stopped"`
	Problem string `json:"problem,omitempty"`
	absent  bool   // there is no such engine on this machine
}

// addonCount is which features are installed, of how many.
type addonCount struct {
	Installed []string `json:"installed"`
	Features  int      `json:"features"`
	Problem   string   `json:"problem,omitempty"`
}

// overviewBound is how long anything may take that somebody else answers: a daemon, a supervisor, an interpreter.
const overviewBound = 2 * time.Second

// overview looks around, everywhere at once.
func (a *app) overview(ctx context.Context) (overview, error) {
	ctx, cancel := context.WithTimeout(ctx, overviewBound)
	defer cancel()
	g, err := a.agent()
	if err != nil {
		return overview{}, err
	}
	o := overview{Version: version.Current().String(), Home: g.root, Agents: []agentState{}, Services: []serviceState{}, Sandboxes: []engineCount{}}
	var looking sync.WaitGroup
	looking.Go(func() { o.Agents, o.Services = a.lookAtServices(ctx, g) })
	looking.Go(func() { o.Addons = a.lookAtAddons(ctx) })
	if c, err := a.terminal(); err != nil {
		o.Problem = err.Error()
	} else {
		o.Engine = a.choiceOf(c)
		o.Sandboxes = a.lookAtEngines(ctx, c)
	}
	looking.Wait()
	o.Engine.judge(o.Sandboxes)
	o.Next = o.next()
	return o, nil
}

func (a *app) choiceOf(c config.Config) engineChoice {
	choice := engineChoice{Name: c.Engine, Why: "the default"}
	switch {
	case c.EngineFrom != "":
		choice.Why = c.EngineFrom + " says so"
	case c.Engine == config.ImageEngine:
		choice.Why = "the default in Hermes' own image, where the container is the boundary"
	}
	if !slices.Contains(a.engineNames(), c.Engine) {
		choice.Problem = fmt.Sprintf("this hermes has %s", strings.Join(a.engineNames(), ", "))
	}
	return choice
}

// judge says why the engine cannot be used, by what was found out about all. Podman takes the place of a Docker that is
// not there.
func (e *engineChoice) judge(counts []engineCount) {
	byName := map[string]engineCount{}
	for _, count := range counts {
		byName[count.Engine] = count
	}
	chosen, podman := byName[e.Name], byName[string(daemon.Podman)]
	switch {
	case e.Problem != "" || chosen.Problem == "":
	case e.Name == string(daemon.Docker) && chosen.absent && podman.Problem == "":
		e.Why += "; Podman takes its place"
	default:
		e.Problem = chosen.Problem
	}
}

// lookAtEngines counts the sandboxes of all engines, in the order of their names.
func (a *app) lookAtEngines(ctx context.Context, c config.Config) []engineCount {
	names := a.engineNames()
	counts := make([]engineCount, len(names))
	var looking sync.WaitGroup
	for i, name := range names {
		looking.Go(func() { counts[i] = a.count(ctx, c, name) })
	}
	looking.Wait()
	return counts
}

func (a *app) count(ctx context.Context, c config.Config, name string) engineCount {
	count := engineCount{Engine: name}
	infos, err := a.list(ctx, c, name)
	var missing *daemon.Error
	switch {
	case errors.As(err, &missing): // "hermes doctor" has the whole of it, with what to do
		count.Problem, count.absent = missing.Why, missing.Reason == daemon.NotFound
	case err != nil && ctx.Err() != nil:
		count.Problem = "it does not answer in time"
	case err != nil:
		count.Problem = err.Error()
	}
	for _, info := range infos {
		if info.State == sandbox.Running {
			count.Running++
		} else {
			count.Stopped++
		}
	}
	return count
}

func (a *app) list(ctx context.Context, c config.Config, name string) ([]sandbox.Info, error) {
	// What of the settings is left out of account is for who uses the engine.
	o, err := a.sandboxOptions()
	if err != nil {
		return nil, err
	}
	o.Say = nil
	m, err := configured.OtherManager(ctx, o, c, name)
	if err != nil {
		return nil, err
	}
	defer a.close(m)
	return m.List(ctx, o.Home)
}

func (a *app) lookAtAddons(ctx context.Context) addonCount {
	status := a.addons(nil).Status(ctx)
	count := addonCount{Installed: []string{}, Features: len(status.Features), Problem: status.Problem}
	for _, f := range status.Features {
		if f.State == addon.Installed {
			count.Installed = append(count.Installed, f.Name)
		}
	}
	return count
}
