package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Engine makes sandboxes. Implementations pass the suite in sandbox/enginetest.
//
// An engine deals in names and streams only: no process ids, descriptors or host
// paths pass through here, so that one may be on another machine.
type Engine interface {
	// Name is what people call the engine.
	Name() string
	Capabilities() Capabilities
	// Create makes and starts the sandbox of an identity that has none. It
	// fails with ErrExists when there is one; the caller then attaches to it.
	Create(ctx context.Context, id Identity, spec Spec) (Info, error)
	// Find looks for an identity's sandbox. ErrNotFound is the only answer
	// that means that there is none.
	Find(ctx context.Context, id Identity) (Info, error)
	// List returns all sandboxes of a home.
	List(ctx context.Context, home string) ([]Info, error)
	// Start brings a stopped or paused sandbox back. A paused one it leaves as it
	// is, whatever its spec; what it returns says which.
	Start(ctx context.Context, id Identity, spec Spec) (Info, error)
	// Inspect tells what the engine set up and read back. The Manager holds it
	// against what a process inside finds.
	Inspect(ctx context.Context, id Identity) (Posture, error)
	// Remove ends the sandbox and what belongs to its run; with files also
	// what it kept. It returns after the removal. Removing what is not there
	// is not an error.
	Remove(ctx context.Context, id Identity, files bool) error
	// Connect opens a stream to the guest.
	Connect(ctx context.Context, id Identity) (io.ReadWriteCloser, error)
	// Sweep removes leftovers of sandboxes of a home that died half-made, and
	// returns how many it removed. It never touches a living one.
	Sweep(ctx context.Context, home string) (int, error)
}

// Capabilities is what an engine can do.
type Capabilities struct {
	// Direct says that connecting is as cheap as a system call, so that every
	// command may have a connection of its own.
	Direct bool
	// Isolated is false where commands run beside everything else.
	Isolated bool
	// GuestBuild names the guest that new sandboxes get. A sandbox with another
	// one is made anew when it is idle.
	GuestBuild string
	// Mounts says that a Spec may have some.
	Mounts bool
	// Images says that a Spec may name one.
	Images bool
	// Containers says that a Spec may have the part that is about them.
	Containers bool
	// Networks are the ones a Spec may name; the first is the default.
	Networks []Network
}

// check refuses what an engine would have to leave out.
func (c Capabilities) check(engine string, spec Spec) error {
	if spec.Keep && !c.Containers {
		return fmt.Errorf("the %s engine has no sandboxes that end with their callers and keep files", engine)
	}
	if spec.Container.normal() != nil && !c.Containers {
		return fmt.Errorf("the %s engine makes no containers and cannot do what the spec asks of one (%s); use an engine that does, or leave it out",
			engine, strings.Join(slices.Sorted(maps.Keys(spec.Container.normal().fields())), ", "))
	}
	if len(c.Networks) > 0 && !slices.Contains(c.Networks, spec.Network) {
		return fmt.Errorf("the %s engine has no network %q: it has %q", engine, spec.Network, c.Networks)
	}
	return nil
}

// State says whether a sandbox has a guest.
type State string

// The states.
const (
	Running State = "running"
	Stopped State = "stopped" // its files are there, nothing runs
	Paused  State = "paused"  // held still by somebody; Start lets it go on
)

// Info is what an engine knows of a sandbox without asking its guest.
type Info struct {
	Identity Identity  `json:"identity"`
	Engine   string    `json:"engine"`
	State    State     `json:"state"`
	Spec     Spec      `json:"spec"` // without the values of variables
	SpecHash string    `json:"spec_hash"`
	Created  time.Time `json:"created"`
	// Ended is when a stopped sandbox that holds more than its files ended; zero
	// where that is not known, or it holds nothing else.
	Ended time.Time `json:"ended,omitzero"`
	Build string    `json:"build"`
	// Foreign says that the Hermes agent made it. It has no guest: it can be removed
	// by RemoveForeign, and nothing else.
	Foreign bool `json:"foreign,omitempty"`
}

var (
	// ErrNotFound means that an identity has no sandbox.
	ErrNotFound = errors.New("no such sandbox")
	// ErrExists means that an identity has one already.
	ErrExists = errors.New("the sandbox exists already")
	// ErrGone means that a sandbox ended while it was used.
	ErrGone = errors.New("the sandbox has ended")
	// ErrMayHaveRun comes with ErrGone where a command was sent and not answered: it
	// must not be sent again.
	ErrMayHaveRun = errors.New("whether the command ran is not known")
	// ErrClosed means that a hold on a sandbox was given up.
	ErrClosed = errors.New("this hold on the sandbox is closed")
)
