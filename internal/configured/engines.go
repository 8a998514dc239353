package configured

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// Maker makes an engine as a configuration wants it.
type Maker func(Options, config.Config) (sandbox.Engine, error)

// makers are the engines of this build by their names.
var makers = map[string]Maker{
	"native": func(o Options, c config.Config) (sandbox.Engine, error) {
		return native.New(native.Options{Root: c.SandboxRoot, Progress: o.Progress})
	},
	"local": func(_ Options, c config.Config) (sandbox.Engine, error) {
		return local.New(local.Options{Root: c.SandboxRoot})
	},
	"docker": func(o Options, c config.Config) (sandbox.Engine, error) {
		return o.docker(context.Background(), c, daemons["docker"])
	},
	"podman": func(o Options, c config.Config) (sandbox.Engine, error) {
		return o.docker(context.Background(), c, daemons["podman"])
	},
}

// daemons are what to look for, by the names of engines that need one. Who asks for Docker
// and has only Podman gets that.
var daemons = map[string]daemon.Options{"docker": {}, "podman": {Kind: daemon.Podman}}

// Makers are the engines of this build by their names, for who adds one of his own.
func Makers() map[string]Maker { return maps.Clone(makers) }

// EngineNames are those of this build, in order.
func EngineNames() []string { return names(makers) }

func names(m map[string]Maker) []string { return slices.Sorted(maps.Keys(m)) }

// UnknownEngineError says that the configuration names an engine that there is not.
type UnknownEngineError struct {
	Name  string
	Known []string
}

func (e *UnknownEngineError) Error() string {
	return fmt.Sprintf("cannot use the backend %q: this hermes has %s; set terminal.backend or TERMINAL_ENV to one of them", e.Name, strings.Join(e.Known, ", "))
}

// docker returns the engine of a daemon, which must answer. The search has bounds of its own; ctx is for who has
// less time than that.
func (o Options) docker(ctx context.Context, c config.Config, d daemon.Options) (sandbox.Engine, error) {
	if d.Lookup = o.Lookup; d.Warn == nil {
		d.Warn = o.Say
	}
	found, err := daemon.Find(ctx, d)
	if err != nil {
		return nil, err
	}
	api, err := found.Client()
	if err != nil {
		return nil, err
	}
	options := docker.Options{Client: api, Name: string(found.Kind), Arch: runtime.GOARCH, Host: found.Host, Root: c.SandboxRoot, Progress: o.Progress, Warn: d.Warn}
	if found.Path() == "" { // it may be on a machine of another kind
		facts, err := found.Ask(ctx, api)
		if err != nil {
			return nil, err
		}
		options.Arch, options.Host = facts.Arch, ""
	}
	return docker.New(options)
}

// manager returns one of the engine of that name.
func (o Options) manager(c config.Config, name string) (*sandbox.Manager, error) {
	if m, ok := o.recall(c, name); ok {
		return m, nil
	}
	e, err := o.engine(c, name)
	if err != nil {
		return nil, err
	}
	return o.manage(c, e), nil
}

// recall returns a manager for the expected task's sandbox if this machine remembers its guest, so that no daemon need be
// asked for it.
func (o Options) recall(c config.Config, name string) (*sandbox.Manager, bool) {
	wanted, ok := daemons[name]
	if !ok || o.Expect == "" {
		return nil, false
	}
	wanted.Lookup = o.Lookup
	kind, host, ok := daemon.Expect(wanted)
	if !ok {
		return nil, false
	}
	e, ok := docker.Recall(docker.Options{Name: string(kind), Arch: runtime.GOARCH, Host: host}, o.identity(c, o.Expect, true), func(ctx context.Context) (sandbox.Engine, error) {
		e, err := o.docker(ctx, c, daemons[name])
		if err != nil {
			return nil, cannotUse(name, err)
		}
		return e, nil
	})
	if !ok {
		return nil, false
	}
	return o.manage(c, e), true
}

func (o Options) engine(c config.Config, name string) (sandbox.Engine, error) {
	construct, ok := o.Makers[name]
	if !ok {
		return nil, &UnknownEngineError{name, names(o.Makers)}
	}
	e, err := construct(o, c)
	if err != nil {
		return nil, cannotUse(name, err)
	}
	return e, nil
}

// cannotUse says which engine an error is about, unless it says what cannot be done itself.
func cannotUse(name string, err error) error {
	if strings.HasPrefix(err.Error(), "cannot ") {
		return err
	}
	return fmt.Errorf("cannot use the engine %s: %w", name, err)
}

func (o Options) manage(c config.Config, e sandbox.Engine) *sandbox.Manager {
	// A lifetime of zero means the shortest to the user, the default to the Manager.
	return sandbox.NewManager(e, sandbox.Options{Lifetime: max(c.Lifetime, time.Second), NoSweep: !c.OrphanReaper, Log: o.Log})
}

// otherPatience is how long a daemon may take to answer that nobody asked for by name.
const otherPatience = time.Second

// EveryManager returns the managers of all engines that work here, the configured one's first. With an engine that was
// asked for by name it is that one's only.
func EveryManager(o Options) ([]*sandbox.Manager, config.Config, error) {
	o = o.completed()
	o.Expect = "" // all tasks are meant
	c, err := o.Load()
	if err != nil {
		return nil, c, err
	}
	name := o.Engine
	if name == "" {
		name = c.Engine
	}
	m, err := o.manager(c, name)
	if err != nil || o.Engine != "" {
		return []*sandbox.Manager{m}, c, err
	}
	all := []*sandbox.Manager{m}
	for _, name := range names(o.Makers) {
		e, err := o.other(context.Background(), c, name, daemon.Options{Patience: otherPatience})
		var missing *daemon.Error
		switch {
		case err == nil && e.Name() != m.EngineName():
			all = append(all, o.manage(c, e))
		case errors.As(err, &missing) && missing.Reason != daemon.NotFound:
			o.Say(fmt.Sprintf("the sandboxes of %s are left out: %v", name, err))
		}
		// Any other that this system cannot have has no sandboxes here.
	}
	return all, c, nil
}

// OtherManager is one of an engine that nobody asked for by name: it is not waited for long.
func OtherManager(ctx context.Context, o Options, c config.Config, name string) (*sandbox.Manager, error) {
	o = o.completed()
	e, err := o.other(ctx, c, name, daemon.Options{Patience: otherPatience, Warn: o.Say})
	if err != nil {
		return nil, err
	}
	return o.manage(c, e), nil
}

// other is an engine that nobody asked for by name.
func (o Options) other(ctx context.Context, c config.Config, name string, d daemon.Options) (sandbox.Engine, error) {
	switch kind := daemon.Kind(name); kind {
	case daemon.Docker, daemon.Podman:
		d.Kind = kind
		return o.docker(ctx, c, d)
	}
	return o.Makers[name](o, c)
}
