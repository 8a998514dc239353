// Package boot brings a container from its first instruction to where services can be started: who the service
// user is, a data volume that it can use, what a new volume begins with, and one environment for every child.
//
// hermes-init calls Run once. It starts no service and knows nothing of gateways; what it finds out for those who
// do is in the Result. With root's rights it does nothing to the volume but change owners: all else is done with
// the service user's, so that nothing that the user put there can lead it astray.
package boot

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/supervise"
)

// Machine is what boots: where its files are and who we are in it.
type Machine struct {
	// Root is where its file system begins: "/", or a directory in tests. Other paths are those inside.
	Root string
	// Install is the sealed tree, with the seeds of a new volume and the bundled skills.
	Install string
	// Program is the real hermes, by its absolute path; empty skips what has to be asked of it.
	Program string
	// Account is the name of the service user.
	Account string
	// Environ is the container's environment.
	Environ []string
	// UID, GID and Groups are who we are.
	UID, GID int
	Groups   []int
	// Run runs the programs that belong to the boot, because only one in a process may wait for children.
	Run Runner
	// Log gets a line a step, and a warning for each thing that could not be done.
	Log *slog.Logger
	// Began is when this process began: the stamps in the log count from there.
	Began time.Time
	// Now and Random are the clock and the source of keys.
	Now    func() time.Time
	Random io.Reader
	// Self and Locks are for the lease: who we are in it, and what the volume's file system can do. Zero values
	// are found out.
	Self  lease.Holder
	Locks lease.Locks
}

// Here is the machine that this process runs on, as our image has it.
func Here(run Runner, log *slog.Logger) Machine {
	groups, _ := os.Getgroups()
	return Machine{
		Root: "/", Install: "/opt/hermes", Program: "/opt/hermes/.venv/bin/hermes", Account: "hermes",
		Environ: os.Environ(), UID: os.Geteuid(), GID: os.Getegid(), Groups: groups,
		Run: run, Log: log, Began: time.Now(), Now: time.Now, Random: rand.Reader,
	}
}

// Command is a program that belongs to the boot.
type Command struct {
	Argv []string
	Env  []string
	Dir  string
	// User is who it runs as; nil means as we do.
	User *supervise.User
	// Capture returns its output instead of showing it.
	Capture bool
}

// Runner runs a command to its end, or ends it with all that it started when ctx is done. What it captures is
// bounded. An error says how the command failed, without its arguments.
type Runner func(ctx context.Context, c Command) (output []byte, err error)

// Result is what the boot found out and made.
type Result struct {
	// User is the service user: ourselves, where we are not root.
	User User
	// Home is the data directory, RootHome that of all profiles.
	Home, RootHome string
	// Root says whether we may become the service user; where not, everything runs as we do.
	Root bool
	// Lease is ours to keep up and release. It is nil where Holder has it, and where there can be none: who
	// supervises then is not known, and a shortfall says why.
	Lease  *lease.Lease
	Holder *lease.HeldError
	// Shortfalls are what could not be done, a line each.
	Shortfalls []string
	// Dashboard is whether the dashboard is wanted.
	Dashboard bool
	// NoSupervise is whether "gateway run" is to stay in the foreground.
	NoSupervise bool
	// Multiplex is whether the default gateway serves all profiles.
	Multiplex bool
	// Foreign are services that the image brings for another supervisor.
	Foreign []Foreign

	env environment
}

// Environ is the environment of every child: the container's, and what the boot found out.
func (r *Result) Environ() []string { return r.env.list() }

// Service is who a service has to run as; nil means as we do.
func (r *Result) Service() *supervise.User {
	if !r.Root {
		return nil
	}
	return &supervise.User{UID: r.User.UID, GID: r.User.GID, Groups: r.User.Groups}
}

// Files is whose rights are used for files on the volume.
func (r *Result) Files() asuser.User {
	return asuser.User{UID: r.User.UID, GID: r.User.GID, Groups: r.User.Groups}
}

// Foreign is a service of s6-overlay's kind that an image brings: a directory with a run script, both root's.
type Foreign struct{ Name, Dir, Run string }

// StepError is the failure of a step that must not fail.
type StepError struct {
	Step string
	Err  error
}

func (e *StepError) Error() string { return fmt.Sprintf("boot stopped at %q: %v", e.Step, e.Err) }

func (e *StepError) Unwrap() error { return e.Err }

// step is one thing that a boot does. The error of one that must not fail ends the boot; of others it is a
// shortfall.
type step struct {
	name string
	run  func(context.Context, *boot) error
	must bool
	// root marks what only root can do and nobody else has to.
	root bool
	// volume marks what needs the home to be a directory, and not a link to one.
	volume bool
	// alone marks what is not done while another container supervises the volume: it owns what is there.
	alone bool
}

// Run boots. The error is a *StepError, or that of ctx.
func Run(ctx context.Context, m Machine) (*Result, error) {
	b := &boot{Machine: m, result: Result{Root: m.UID == 0}}
	defer b.close()
	b.result.env = newEnvironment(m.Environ)
	for _, s := range steps {
		err := ctx.Err()
		if err == nil {
			err = b.step(ctx, s)
		}
		if err != nil {
			b.result.Lease.Release()
			return nil, err
		}
	}
	b.summary()
	return &b.result, nil
}

func (b *boot) step(ctx context.Context, s step) error {
	if s.root && !b.result.Root || s.volume && b.home == nil || s.alone && b.result.Holder != nil {
		b.skipped = append(b.skipped, s.name)
		return nil
	}
	began := time.Now()
	err := s.run(ctx, b)
	b.Log.Info("boot", "step", s.name, "at", began.Sub(b.Began), "took", time.Since(began), "ok", err == nil)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // cut short, which is no failure of the step
	}
	if s.must {
		return &StepError{s.name, err}
	}
	b.shortfall("%v", err)
	return nil
}
