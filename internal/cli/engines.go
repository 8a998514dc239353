package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// engines makes the engines of this build by their names.
var engines = map[string]func(*app, config.Config) (sandbox.Engine, error){
	"native": func(a *app, c config.Config) (sandbox.Engine, error) {
		return native.New(native.Options{Root: c.SandboxRoot, Progress: a.newFetching()})
	},
	"local": func(_ *app, c config.Config) (sandbox.Engine, error) {
		return local.New(local.Options{Root: c.SandboxRoot})
	},
	"docker": func(a *app, c config.Config) (sandbox.Engine, error) {
		return newDocker(context.Background(), a, c, daemons["docker"])
	},
	"podman": func(a *app, c config.Config) (sandbox.Engine, error) {
		return newDocker(context.Background(), a, c, daemons["podman"])
	},
}

// daemons are what to look for, by the names of engines that need one. Who asks for Docker
// and has only Podman gets that.
var daemons = map[string]daemon.Options{"docker": {}, "podman": {Kind: daemon.Podman}}

func engineNames() []string { return sortedNames(engines) }

// newDocker returns the engine of a daemon, which must answer. The search has bounds of its own; ctx is for who has
// less time than that.
func newDocker(ctx context.Context, a *app, c config.Config, o daemon.Options) (sandbox.Engine, error) {
	if o.Lookup = a.lookup; o.Warn == nil {
		o.Warn = func(line string) { a.say("%s", line) }
	}
	found, err := daemon.Find(ctx, o)
	if err != nil {
		return nil, err
	}
	api, err := found.Client()
	if err != nil {
		return nil, err
	}
	options := docker.Options{Client: api, Name: string(found.Kind), Arch: runtime.GOARCH, Host: found.Host, Root: c.SandboxRoot, Progress: a.newFetching(), Warn: o.Warn}
	if found.Path() == "" { // it may be on a machine of another kind
		facts, err := found.Ask(ctx, api)
		if err != nil {
			return nil, err
		}
		options.Arch, options.Host = facts.Arch, ""
	}
	return docker.New(options)
}

// recall returns a manager for the target's sandbox if this machine remembers its guest, so
// that no daemon need be asked for it.
func (t target) recall(a *app, c config.Config, name string) (*sandbox.Manager, bool) {
	wanted, ok := daemons[name]
	if !ok {
		return nil, false
	}
	wanted.Lookup, t.containers = a.lookup, true
	kind, host, ok := daemon.Expect(wanted)
	if !ok {
		return nil, false
	}
	e, ok := docker.Recall(docker.Options{Name: string(kind), Arch: runtime.GOARCH, Host: host}, t.identity(c), func(ctx context.Context) (sandbox.Engine, error) {
		e, err := newDocker(ctx, a, c, daemons[name])
		if err != nil {
			return nil, cannot("use the engine "+name, err)
		}
		return e, nil
	})
	if !ok {
		return nil, false
	}
	return newManager(c, e), true
}

// managerOf returns a manager of the engine of that name.
func managerOf(a *app, c config.Config, name string) (*sandbox.Manager, error) {
	e, err := newEngine(a, c, name)
	if err != nil {
		return nil, err
	}
	return newManager(c, e), nil
}

func newEngine(a *app, c config.Config, name string) (sandbox.Engine, error) {
	construct, ok := engines[name]
	if !ok {
		return nil, &settingError{fmt.Sprintf("cannot use the backend %q: this hermes has %s; set terminal.backend or TERMINAL_ENV to one of them", name, strings.Join(engineNames(), ", "))}
	}
	e, err := construct(a, c)
	if err != nil {
		return nil, cannot("use the engine "+name, err)
	}
	return e, nil
}

func newManager(c config.Config, e sandbox.Engine) *sandbox.Manager {
	// A lifetime of zero means the shortest to the user, the default to the Manager.
	return sandbox.NewManager(e, sandbox.Options{Lifetime: max(c.Lifetime, time.Second), NoSweep: !c.OrphanReaper})
}

// otherPatience is how long a daemon may take to answer that nobody asked for by name.
const otherPatience = time.Second

// everyManager returns the managers of the engines that a command without --engine is
// about, that of the target first.
func (t *target) everyManager(a *app) ([]*sandbox.Manager, config.Config, error) {
	c, err := config.Load(a.lookup)
	if err != nil {
		return nil, c, err
	}
	name, err := t.engineName(c)
	if err != nil {
		return nil, c, err
	}
	m, err := managerOf(a, c, name)
	if err != nil || t.engineGiven() {
		return []*sandbox.Manager{m}, c, err
	}
	all := []*sandbox.Manager{m}
	for _, name := range engineNames() {
		e, err := otherEngine(context.Background(), a, c, name, daemon.Options{Patience: otherPatience})
		var missing *daemon.Error
		switch {
		case err == nil && e.Name() != m.EngineName():
			all = append(all, newManager(c, e))
		case errors.As(err, &missing) && missing.Reason != daemon.NotFound:
			a.say("the sandboxes of %s are left out: %v", name, err)
		}
		// Any other that this system cannot have has no sandboxes here.
	}
	return all, c, nil
}

// otherEngine is an engine that nobody asked for by name.
func otherEngine(ctx context.Context, a *app, c config.Config, name string, o daemon.Options) (sandbox.Engine, error) {
	switch kind := daemon.Kind(name); kind {
	case daemon.Docker, daemon.Podman:
		o.Kind = kind
		return newDocker(ctx, a, c, o)
	}
	return engines[name](a, c)
}
