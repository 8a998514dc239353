package supervise

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/supervise/reaper"
)

// Options are what a supervisor works with.
type Options struct {
	// Reaper waits for the processes. It is shared with whatever else is started.
	Reaper *reaper.Reaper
	// Output gets what services say as it is, whole lines at a time: the container's own output.
	Output io.Writer
	// Hand writes the logs; nil writes them as the supervisor itself.
	Hand *asuser.Hand
	// Volume is the data volume: no link below it is followed on the way to a log.
	Volume string
	// Jitter is a number from 0 to 1 for the pauses before a restart; nil draws one.
	Jitter func() float64
	// Log is told of every change of a state.
	Log *slog.Logger
}

// Supervisor keeps services. Its life: New, any number of calls from any goroutine, Shutdown. It is a roster.Driver.
//
// Register, Start, Stop and Restart say what is wanted and return at once; Wait tells what came of it.
type Supervisor struct {
	options Options

	mu     sync.Mutex
	closed bool
	units  map[string]*unit
}

// New makes a supervisor without services.
func New(o Options) *Supervisor

// Register makes a service known, and starts it if up: ErrRegistered if it is known already.
func (s *Supervisor) Register(ctx context.Context, service Service, up bool) error

// Replace does what Register does, whether it is known or not. What runs as it was before is ended.
func (s *Supervisor) Replace(ctx context.Context, service Service, up bool) error

// Unregister ends a service and forgets it, and returns when nothing of it runs any more.
func (s *Supervisor) Unregister(ctx context.Context, name string) error

// Start wants a service up. Nothing happens to one that runs; one that is parked or waits is started at once.
func (s *Supervisor) Start(ctx context.Context, name string) error

// Stop wants a service down.
func (s *Supervisor) Stop(ctx context.Context, name string) error

// Restart ends what runs and wants the service up.
func (s *Supervisor) Restart(ctx context.Context, name string) error

// Status is what is known of a service.
func (s *Supervisor) Status(ctx context.Context, name string) (Status, error)

// List is what is known of all, by name.
func (s *Supervisor) List(ctx context.Context) ([]Status, error)

// Wait returns as soon as the service's status is as asked, with ErrNotRegistered once it is forgotten.
func (s *Supervisor) Wait(ctx context.Context, name string, is func(Status) bool) (Status, error)

// Log is what the service said: its last lines with their times and, to follow, what it says from now on until
// ctx ends or the reader is closed.
func (s *Supervisor) Log(ctx context.Context, name string, lines int, follow bool) (io.ReadCloser, error)

// Survivor is what could not be ended.
type Survivor struct {
	Service string
	PIDs    []int
}

// Shutdown ends all services at the same time, whole trees, and refuses every later call but Status, List, Wait and
// Log. Each has its own grace; whatever runs when ctx ends is killed. It returns what survived even that.
func (s *Supervisor) Shutdown(ctx context.Context) []Survivor
