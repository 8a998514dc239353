// Package docker is the engine whose sandboxes are containers of a Docker Engine, or
// of Podman through the same API.
//
// A sandbox is a container whose PID 1 is hermes-guest, put there by a volume, so that
// it works in any image. It is found again by its name and its labels from any process
// that reaches the daemon; commands never cost a call of the daemon. Files that it
// keeps are where the Hermes agent's Docker environment had them.
//
// The package asks the daemon what is so and never assumes it, never takes a failed
// question for an answer, and never touches what it did not make.
package docker

import (
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Options of an engine.
type Options struct {
	// Client speaks to the daemon.
	Client *client.Client
	// Name is the daemon's kind, "docker" or "podman", which is also what people call
	// the engine.
	Name string
	// Arch is the daemon's architecture, as Go names it.
	Arch string
	// Host is the daemon's address, if its containers are processes of this machine. Who
	// reaches a guest then writes that down for Recall.
	Host string
	// Root is where sandboxes keep their files; empty means "sandboxes" in the home of
	// each identity.
	Root string
	// Bridge makes every connection pass through the container, also where the guest's
	// socket could be reached.
	Bridge bool
	// Progress is told of images that the daemon fetches; may be nil.
	Progress Progress
	// PullBound is how long fetching an image may take, StartBound how long making and
	// starting a container may, the image being there; zero means the default.
	PullBound, StartBound time.Duration
	// Warn is told in one line what a sandbox goes without; may be nil.
	Warn func(line string)
	Log  *slog.Logger
}

// Engine makes sandboxes of containers.
type Engine struct {
	options Options
	api     *client.Client
	build   string
	run     string
	log     *slog.Logger
	near    atomic.Bool               // Podman was seen to see our files
	known   atomic.Pointer[abilities] // what the daemon has told of itself
	noDisk  atomic.Pointer[string]    // why it limits no disk, if it said so
	// What is known of identities, because every command asks for it.
	normals, links, guests sync.Map
}

// New returns the engine. It asks the daemon nothing.
func New(o Options) (sandbox.Engine, error) {
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	build, err := programs.Guest.Digest(o.Arch)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Warn == nil {
		o.Warn = func(line string) { o.Log.Warn(line) }
	}
	return &Engine{options: o, api: o.Client, build: build, run: run, log: o.Log}, nil
}

// Name is the daemon's kind.
func (e *Engine) Name() string { return e.options.Name }

// Capabilities tells what sandboxes of containers can have.
func (e *Engine) Capabilities() sandbox.Capabilities { return capabilities(e.build) }

func capabilities(build string) sandbox.Capabilities {
	return sandbox.Capabilities{Direct: true, Isolated: true, Mounts: true, Images: true, Containers: true, GuestBuild: build,
		Networks: []sandbox.Network{sandbox.NetworkBridge, sandbox.NetworkNone, sandbox.NetworkHost}}
}

// dir is where an identity's sandbox keeps what must survive its container.
func (e *Engine) dir(id sandbox.Identity) string { return filepath.Join(e.dirs(id.Home), id.Name()) }

// dirs is where all sandboxes of a home do.
func (e *Engine) dirs(home string) string {
	root := e.options.Root
	if root == "" {
		root = filepath.Join(home, "sandboxes")
	}
	return filepath.Join(root, e.options.Name)
}

// runDir is where a sandbox has its socket while it runs.
func (e *Engine) runDir(id sandbox.Identity) string { return runDir(e.run, id, e.options.Name) }

func runDir(run string, id sandbox.Identity, name string) string {
	return filepath.Join(run, id.Key()+"-"+name)
}
