package api

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
)

// Addons is what the API needs of a profile's add-ons. *configured.Addons is it.
type Addons interface {
	Status(ctx context.Context) addon.Status
	Features(name string) ([]feature.Feature, error)
	Ensure(ctx context.Context, name string, progress func(addon.Progress)) (addon.Ensured, error)
	Tools(ctx context.Context, f feature.Feature) ([]backend.Tool, error)
	First(ctx context.Context, name, tool string, arguments json.RawMessage, progress func(addon.Progress)) (feature.Feature, backend.Result, error)
}

// lateAddons are opened by the first request that needs them; where that fails, the next one tries again.
type lateAddons struct {
	open func() (Addons, error)

	mu  sync.Mutex
	all Addons
}

func (l *lateAddons) get() (Addons, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		if l.open == nil {
			return nil, Problem(client.CodeUnavailable, "this gateway has no add-ons")
		}
		all, err := l.open()
		if err != nil {
			return nil, Problem(client.CodeUnavailable, err.Error())
		}
		l.all = all
	}
	return l.all, nil
}

var addonErrors = []code{client.CodeNotFound, client.CodeUnavailable, client.CodeTimeout}

func (a *API) addonOperations() []Operation {
	const one = "/v1/addons/{feature}"
	return []Operation{
		{
			Method: "GET", Path: "/v1/addons", ID: "listAddons", Tag: "addons",
			Summary: "List the features that there are, and which of them are here",
			Answers: []Answer{{Status: 200, Description: "the features", Type: client.AddonList{}}},
			Handle:  a.listAddons,
		},
		{
			Method: "POST", Path: one + "/ensure", ID: "ensureAddon", Tag: "addons",
			Summary: "Install a feature that is not here",
			Detail:  "As a stream of events it tells how far it is. An installation goes on if its caller goes away, and is waited for by who asks again.",
			Answers: []Answer{
				{Status: 200, Description: "it is here", Type: client.AddonEnsured{}},
				{Status: 200, Description: "how far it is", Events: []Event{
					{Name: client.EventProgress, Description: "a step", Type: client.AddonProgress{}},
					{Name: client.EventDone, Description: "it is here", Type: client.AddonEnsured{}},
					{Name: client.EventProblem, Description: "it cannot be had", Type: client.Problem{}},
					{Name: client.EventDraining, Description: "the gateway ends", Type: client.Draining{}}}}},
			Errors: addonErrors,
			Handle: a.ensureAddon,
		},
		{
			Method: "GET", Path: one + "/tools", ID: "listTools", Tag: "addons",
			Summary: "List the tools of a feature that is here",
			Detail:  "A name like search means the features that the configuration chooses for it; then these are the tools of the first that answers.",
			Answers: []Answer{{Status: 200, Description: "the tools", Type: client.ToolList{}}}, Errors: addonErrors,
			Handle: a.listTools,
		},
		{
			Method: "POST", Path: one + "/tools/{tool}", ID: "callTool", Tag: "addons",
			Summary: "Call a tool of a feature",
			Detail:  "The feature is installed first if it is not here. The body is the tool's arguments. A tool that says it failed has answered.",
			Request: &Body{Type: map[string]any{}, Optional: true},
			Answers: []Answer{{Status: 200, Description: "what it answered", Type: client.ToolResult{}}}, Errors: addonErrors,
			Handle: a.callTool,
		},
	}
}

func (a *API) listAddons(w http.ResponseWriter, r *http.Request) error {
	addons, err := a.addons.get()
	if err != nil {
		return err
	}
	status := addons.Status(r.Context())
	list := client.AddonList{Addons: []client.Addon{}, Refusal: status.Refusal, Problem: status.Problem}
	for _, f := range status.Features {
		list.Addons = append(list.Addons, client.Addon{Name: f.Name, For: f.For, State: string(f.State), Wanted: f.Wanted, Lock: string(f.Lock), Missing: f.Missing, Reason: f.Reason})
	}
	return answer(w, http.StatusOK, list)
}

func (a *API) ensureAddon(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("feature")
	addons, err := a.addons.get()
	if err != nil {
		return err
	}
	lasts(w)
	if !wantsEvents(r) {
		done, err := addons.Ensure(r.Context(), name, nil)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, client.AddonEnsured{Feature: name, Installed: done.Installed})
	}
	return a.tell(w, r, func(ctx context.Context, s *eventStream) error {
		done, err := addons.Ensure(ctx, name, func(p addon.Progress) {
			s.send(client.EventProgress, "", client.AddonProgress{Feature: p.Feature, Phase: string(p.Phase), Done: p.Done, Total: p.Total, Size: p.Size})
		})
		if err != nil {
			return err
		}
		return s.end(client.EventDone, "", client.AddonEnsured{Feature: name, Installed: done.Installed})
	})
}

func (a *API) listTools(w http.ResponseWriter, r *http.Request) error {
	addons, err := a.addons.get()
	if err != nil {
		return err
	}
	features, err := addons.Features(r.PathValue("feature"))
	if err != nil {
		return err
	}
	lasts(w)
	var last error
	for _, f := range features {
		tools, err := addons.Tools(r.Context(), f)
		if err != nil {
			last = err
			continue
		}
		list := client.ToolList{Feature: f.Name, Tools: []client.Tool{}}
		for _, t := range tools {
			list.Tools = append(list.Tools, client.Tool{Name: t.Name, Description: t.Description, Input: t.Input})
		}
		return answer(w, http.StatusOK, list)
	}
	return last
}

func (a *API) callTool(w http.ResponseWriter, r *http.Request) error {
	arguments := map[string]json.RawMessage{}
	if err := decodeOptional(w, r, &arguments); err != nil {
		return err
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	lasts(w)
	addons, err := a.addons.get()
	if err != nil {
		return err
	}
	f, result, err := addons.First(r.Context(), r.PathValue("feature"), r.PathValue("tool"), text, nil)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.ToolResult{Feature: f.Name, Content: result.Content, Structured: result.Structured, Failed: result.Failed})
}
