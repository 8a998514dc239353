package cli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/survey"
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
	Engine    survey.Engine  `json:"engine"`
	Sandboxes []engineCount  `json:"sandboxes"`
	Addons    survey.Addons  `json:"addons"`
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

// engineCount is how many sandboxes an engine has.
type engineCount struct {
	Engine  string `json:"engine"`
	Running int    `json:"running"`
	Stopped int    `json:"stopped"`
	Problem string `json:"problem,omitempty"`
	absent  bool   // there is no such engine on this machine
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
	looking.Go(func() { o.Addons = survey.AddonsOf(ctx, a.addons(nil)) })
	if s, err := a.surveyed(); err != nil {
		o.Problem = err.Error()
	} else {
		o.Engine = survey.Chosen(s.Config, a.engineNames())
		listed := a.listEngines(ctx, g.root, s)
		o.Engine.Judge(listed)
		o.Sandboxes = counts(listed)
	}
	looking.Wait()
	o.Next = o.next()
	return o, nil
}

// surveyed is the configuration of the sandboxes that are meant, and where it is read.
func (a *app) surveyed() (survey.Settings, error) {
	o, err := a.sandboxOptions()
	if err != nil {
		return survey.Settings{}, err
	}
	c, err := o.Load()
	return survey.Settings{Lookup: o.Lookup, Config: c}, err
}

// listEngines asks all engines for the sandboxes of a home.
func (a *app) listEngines(ctx context.Context, home string, s survey.Settings) []survey.Listed {
	engines := survey.Engines{Home: home, Makers: a.engines()}
	defer engines.Close()
	return engines.List(ctx, s)
}

// counts are how many sandboxes the engines have, in the order of their names.
func counts(listed []survey.Listed) []engineCount {
	all := []engineCount{}
	for _, l := range listed {
		count := engineCount{Engine: l.Engine, Problem: l.Problem, absent: l.Absent}
		for _, info := range l.Infos {
			if info.State == sandbox.Running {
				count.Running++
			} else {
				count.Stopped++
			}
		}
		all = append(all, count)
	}
	slices.SortFunc(all, func(x, y engineCount) int { return strings.Compare(x.Engine, y.Engine) })
	return all
}
