// Package configured has the sandboxes and the add-ons of a profile as its configuration wants them: which engine makes
// them, what is mounted, which limits and variables a container has, which backends a name means.
//
// The command line and the doors of the gateway call it, so that all of them find the same sandbox for a task. It turns
// settings into specs and holds nothing else of them; it writes no configuration, prints nothing, and knows nothing of
// commands, requests or protocols.
package configured

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/internal/mounts"
	"hermes.example/hermes/sandbox"
)

// Options say whose sandboxes are meant, and who is told what.
type Options struct {
	// Lookup is the environment that the configuration is read in.
	Lookup config.Lookup
	// Home is whose sandboxes they are; empty means the home of Lookup. It is another one where that is the directory of
	// a profile: sandboxes are the home's, with the profile's name.
	Home string
	// Profile is the name of the agent; empty means the default one.
	Profile string
	// Engine makes them; empty means the one that is configured.
	Engine string
	// Expect is the task that is probably asked for, if one is: a daemon that makes containers need not be asked for one
	// that this machine remembers.
	Expect string
	// Spec is what sandboxes are like that Use makes, where somebody said so; nil takes them as they are.
	Spec *sandbox.Spec
	// Serves says that this lives long: the configuration is read again for each sandbox, and sandboxes that nobody uses
	// are swept every minute, unless the reaper is switched off.
	Serves bool
	// Say is told, in one line, what of the configuration has no effect; nil means nobody.
	Say func(line string)
	// Progress is told of images that are fetched; may be nil.
	Progress image.Progress
	// Makers are the engines that there are; nil means those of this build.
	Makers map[string]Maker
	Log    *slog.Logger
}

// Sandboxes hands out the sandboxes of one profile. It is safe for concurrent use. Its life: OpenSandboxes, any number of
// calls, Close.
type Sandboxes struct {
	options  Options
	manager  *sandbox.Manager
	opened   config.Config
	instance string // of this process, where none is shared

	mu       sync.Mutex
	holds    map[string]*hold
	expiring bool // somebody looks after the holds
	closed   bool
	life     context.Context
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// OpenSandboxes reads the configuration and finds the engine. An engine that there is not is an *UnknownEngineError.
func OpenSandboxes(o Options) (*Sandboxes, error) {
	o = o.completed()
	c, err := o.Load()
	if err != nil {
		return nil, err
	}
	name := o.Engine
	if name == "" {
		name = c.Engine
	}
	s := &Sandboxes{options: o, opened: c, holds: make(map[string]*hold)}
	if s.manager, err = o.manager(c, name); err != nil {
		return nil, err
	}
	if s.manager.Capabilities().Containers {
		settings, err := c.Container()
		if err != nil {
			return nil, errors.Join(err, s.manager.Close())
		}
		if !settings.PersistAcrossProcesses {
			s.instance = rand.Text()
		}
	}
	s.life, s.stop = context.WithCancel(context.Background())
	if o.Serves && c.OrphanReaper {
		s.work.Go(s.sweep)
	}
	return s, nil
}

func (o Options) completed() Options {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Makers == nil {
		o.Makers = makers
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Load reads the configuration. Where sandboxes are another home's than the one that has it, so are their files.
func (o Options) Load() (config.Config, error) {
	c, err := config.Load(o.Lookup)
	if err == nil && o.Home != "" && c.SandboxRoot == filepath.Join(c.Home, "sandboxes") {
		c.SandboxRoot = filepath.Join(o.Home, "sandboxes")
	}
	return c, err
}

func (o Options) home(c config.Config) string {
	if o.Home != "" {
		return o.Home
	}
	return c.Home
}

// identity is whose sandbox a task's is. Containers that profiles share under a key have one that all have in common: its
// profile can be nobody's name, for those have no colon.
func (o Options) identity(c config.Config, task string, containers bool) sandbox.Identity {
	if containers && c.SharedKey != "" {
		return sandbox.Identity{Home: c.RootHome(), Profile: "shared:" + c.SharedKey, Task: task}
	}
	return sandbox.Identity{Home: o.home(c), Profile: o.Profile, Task: task}
}

// current is the configuration as it counts now.
func (s *Sandboxes) current() (config.Config, error) {
	if !s.options.Serves {
		return s.opened, nil
	}
	return s.options.Load()
}

// Manager is what all of them come from.
func (s *Sandboxes) Manager() *sandbox.Manager { return s.manager }

// Config is how they were configured when they were opened.
func (s *Sandboxes) Config() config.Config { return s.opened }

// Home is whose they are.
func (s *Sandboxes) Home() string { return s.options.home(s.opened) }

// Containers says that they are some, about which the configuration says more than about others.
func (s *Sandboxes) Containers() bool { return s.manager.Capabilities().Containers }

// Identity is whose sandbox a task's is.
func (s *Sandboxes) Identity(task string) sandbox.Identity {
	return s.options.identity(s.opened, task, s.Containers())
}

// KeepsFiles says whether a sandbox keeps its files when nobody said anything about that. Where it has none of its own
// there is nothing to lose.
func (s *Sandboxes) KeepsFiles() bool { return keepsFiles(s.manager, s.opened) }

func keepsFiles(m *sandbox.Manager, c config.Config) bool {
	return c.Persistent || !m.Capabilities().Isolated
}

// Allowed says why a directory of the host must not be mounted; nil if it may.
func (s *Sandboxes) Allowed(m sandbox.Mount) error {
	host, err := mounts.New(s.opened, s.options.Lookup)
	if err != nil {
		return err
	}
	return host.Allowed(m)
}

// Forwarded are the variables of the caller that commands in containers get. They are read for each command: none of them
// is part of a sandbox.
func (s *Sandboxes) Forwarded() (forward.Values, error) {
	if !s.Containers() {
		return nil, nil
	}
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	settings, err := c.Container()
	if err != nil {
		return nil, err
	}
	values, warnings := forward.Read(c, settings, s.options.Lookup)
	for _, warning := range warnings {
		s.options.Say(warning)
	}
	return values, nil
}

// sweepEvery is how often a server looks for sandboxes that nobody uses.
const sweepEvery = time.Minute

func (s *Sandboxes) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		}
		if _, err := s.manager.Prune(s.life, s.Home(), false); err != nil && s.life.Err() == nil {
			s.options.Log.Warn("cannot remove sandboxes that nobody uses", "why", err)
		}
	}
}

// Close gives up every sandbox. Those that keep their files go on; the others end with their last user.
func (s *Sandboxes) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.work.Wait()
	return s.manager.Close()
}
