package configured

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/keeper"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// AddonOptions say whose add-ons are meant, and who is told what.
type AddonOptions struct {
	// Lookup is the environment with the profile's directory as its home, and with the variables of its file.
	Lookup config.Lookup
	// Dir is the profile's directory, and Store where features are installed, if that is not Dir's own place for them.
	Dir, Store string
	// Addons are the options of the manager that installs what is missing.
	Addons addon.Options
	// Say is told, in one line, what is worth knowing; nil means nobody.
	Say func(line string)
}

// Addons are the opt-in backends of a profile: which of them a name means, what they need to be there, and calls of their
// tools. A process of the profile keeps them warm for all callers; where there is none they run in this one. It is safe
// for concurrent use. Its life: OpenAddons, any number of calls, Close.
type Addons struct {
	calls   *keeper.OrHere
	manager *addon.Manager
	options AddonOptions
	config  config.Config
}

// OpenAddons reads the configuration. Nothing is started.
func OpenAddons(o AddonOptions) (*Addons, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	c, err := config.Load(o.Lookup)
	if err != nil {
		return nil, err
	}
	if _, err := c.AddOnIdle(); err != nil { // the keeper can tell its log only
		o.Say(fmt.Sprintf("%v; it is %s until then", err, config.DefaultAddOnIdle))
	}
	a := &Addons{options: o, config: c, manager: addon.New(o.Addons)}
	a.calls = &keeper.OrHere{
		Keeper: Keeper(o.Dir, o.Store),
		Here:   func() (keeper.Pool, error) { return NewPool(c, a.manager, config.DefaultAddOnIdle, a.manager.Log) },
		Cold:   func(err error) { o.Say(fmt.Sprintf("%v; this call starts the backend anew", err)) },
	}
	return a, nil
}

// Keeper is what keeps the backends of a profile warm, which has its directory and perhaps a store elsewhere.
func Keeper(dir, store string) keeper.Keeper {
	environ := os.Environ()
	if store != "" { // the store is the home's, and all else the profile's
		environ = with(environ, config.LazyInstallTarget, store)
	}
	if dir != "" {
		environ = with(environ, "HERMES_HOME", dir)
	}
	return keeper.Keeper{
		Home: dir, Environ: keeper.Environ(environ), Build: keeper.Build(),
		Program: "/proc/self/exe", Arguments: []string{"hermes", "addon", "serve"}, // this very build, also where its file was replaced
	}
}

// with is an environment in which a variable has one value.
func with(environ []string, name, value string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return len(v) > len(name) && v[:len(name)+1] == name+"=" })
	return append(others, name+"="+value)
}

// Manager is what installs them.
func (a *Addons) Manager() *addon.Manager { return a.manager }

// Status looks at all features.
func (a *Addons) Status(ctx context.Context) addon.Status { return a.manager.Status(ctx) }

// Lookup is the environment that features take their variables of.
func (a *Addons) Lookup() config.Lookup { return a.options.Lookup }

// Features are those that a name means, the first choice first. A *choice.UnknownError says that the configuration names
// one that there is not.
func (a *Addons) Features(name string) ([]feature.Feature, error) {
	web, err := a.config.Web()
	if err != nil {
		return nil, err
	}
	return choice.Features(name, a.manager.Features, web, a.options.Lookup)
}

// Ensure installs a feature that is not there, and tells how far it is. It is compiled at once: a new generation
// afterwards would end a backend that is warm by then.
func (a *Addons) Ensure(ctx context.Context, name string, progress func(addon.Progress)) (addon.Ensured, error) {
	m := a.manager
	if progress != nil {
		o := a.options.Addons
		o.Progress = progress
		m = addon.New(o)
	}
	done, err := m.Ensure(ctx, name)
	if err != nil || !done.Installed {
		return done, err
	}
	if err := m.Compile(ctx); err != nil && ctx.Err() == nil {
		a.options.Say(fmt.Sprintf("what was installed can be used, but starts slowly: %v", err))
	}
	return done, nil
}

// Tools are those of a feature that is there.
func (a *Addons) Tools(ctx context.Context, f feature.Feature) ([]backend.Tool, error) {
	return a.calls.Tools(ctx, f.Name, choice.Variables(f, a.options.Lookup))
}

// WarmTools are those of the first of these features whose backend runs. None is started.
func (a *Addons) WarmTools(ctx context.Context, features []feature.Feature) []backend.Tool {
	status, err := a.calls.Status(ctx)
	if err != nil || status == nil {
		return nil
	}
	for _, f := range features {
		if slices.ContainsFunc(status.Backends, func(b backend.State) bool { return b.Feature == f.Name }) {
			tools, _ := a.calls.Keeper.Tools(ctx, f.Name, choice.Variables(f, a.options.Lookup))
			return tools
		}
	}
	return nil
}

// Call calls a tool of a feature that is there, which may take that long; zero means as long as backends may. One that took
// longer did not answer, and others may.
func (a *Addons) Call(ctx context.Context, f feature.Feature, tool string, arguments json.RawMessage, within time.Duration) (backend.Result, error) {
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, nil)
		defer cancel()
	}
	result, err := a.calls.Call(ctx, f.Name, tool, arguments, choice.Variables(f, a.options.Lookup))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = unavailable.BackendFailed(fmt.Sprintf("it took longer than %v", within), "", nil).For(f.Name, nil)
	}
	return result, err
}

// First calls a tool of what a name means: of the first feature that answers. Each is installed before it is called.
func (a *Addons) First(ctx context.Context, name, tool string, arguments json.RawMessage, progress func(addon.Progress)) (feature.Feature, backend.Result, error) {
	features, err := a.Features(name)
	if err != nil {
		return feature.Feature{}, backend.Result{}, err
	}
	return choice.First(features, func(f feature.Feature) (backend.Result, error) {
		if _, err := a.Ensure(ctx, f.Name, progress); err != nil {
			return backend.Result{}, err
		}
		return a.Call(ctx, f, tool, arguments, 0)
	})
}

// Offered is what a feature has.
type Offered struct {
	Feature string         `json:"feature"`
	State   addon.State    `json:"state"`
	Tools   []backend.Tool `json:"tools"`
	Reason  string         `json:"reason,omitempty"`
	// Failed says that it is there and did not answer; the next time it may.
	Failed bool `json:"-"`
}

// together is how many backends are started at once.
const together = 4

// Offered asks the features that are there for their tools, and names the others that have a backend.
func (a *Addons) Offered(ctx context.Context) []Offered {
	all, there := []Offered{}, []feature.Feature{}
	for _, f := range a.manager.Status(ctx).Features {
		if f.Entry == "" {
			continue
		}
		all = append(all, Offered{Feature: f.Name, State: f.State, Tools: []backend.Tool{}, Reason: f.Reason})
		if len(f.Missing) == 0 {
			there = append(there, f.Feature)
		}
	}
	places := make(chan struct{}, together)
	var wg sync.WaitGroup
	for _, f := range there {
		to := &all[slices.IndexFunc(all, func(o Offered) bool { return o.Feature == f.Name })]
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			tools, err := a.Tools(ctx, f)
			if err != nil {
				to.State, to.Reason, to.Failed = addon.Unavailable, err.Error(), true
				return
			}
			to.Tools = tools
		})
	}
	wg.Wait()
	return all
}

// Close ends the backends of this process, if there are any. Those that are kept warm stay.
func (a *Addons) Close() { a.calls.Close() }
