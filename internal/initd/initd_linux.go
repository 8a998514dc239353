// Package initd is the life of a container: it boots, keeps the services, runs the main program, and ends all of it
// in order, with the main program's status.
//
// cmd/hermes-init calls it. It joins the parts that do the work and knows as little as possible of each; being PID 1,
// it must neither crash nor wait for anything without a bound.
package initd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/boot"
	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/mainprog"
	"hermes.example/hermes/internal/supervise/reaper"
)

// Statuses of a container whose boot failed, and of one that may not do what it is for.
const (
	exitBoot   = 1
	exitConfig = 78
)

// container is the one that we are in.
type container struct {
	began    time.Time
	command  []string // without the entrypoint
	terminal mainprog.Terminal
	signals  chan os.Signal
	reaper   *reaper.Reaper
	log      *slog.Logger
}

// Run lives the life and returns the container's status.
func Run(call entry.Call) int {
	// What whoever started us left open is for none of our children. A kernel that does not know the call leaves it.
	unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	c := &container{began: time.Now(), command: call.Args, terminal: mainprog.Prepare(), signals: watch(), reaper: reaper.New()}
	c.log = newLog(c.terminal)
	if call.Deprecated != "" {
		say("%s is an old name: use %s as the entrypoint", call.Deprecated, entry.Init)
	}
	if os.Getpid() != 1 {
		say("not PID 1: another init is above, and this one supervises below it")
		if err := reaper.Subreaper(); err != nil {
			say("cannot adopt orphans: %v", err)
		}
	}
	code, err := c.live()
	if err != nil {
		say("%v", err)
	}
	return code
}

// live is all of it. An error is said, and goes with its status.
func (c *container) live() (code int, err error) {
	result, err := c.boot()
	if err != nil {
		return failureCode(err), err
	}
	services, err := startServices(c, result)
	if err != nil {
		return failureCode(err), err
	}
	defer services.close()
	main, err := c.start(result)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endGrace)
		defer cancel()
		services.stop(ctx)
		return failureCode(err), err
	}
	w := watchman{main: main, stop: services.stop}
	code = w.wait(c.signals)
	reaper.EndBelow(w.phase == hurried)
	return code, nil
}

// boot boots. Who wants the container to end meanwhile does not wait for it.
func (c *container) boot() (*boot.Result, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case sig := <-c.signals:
				if sig == syscall.SIGTERM || sig == syscall.SIGINT {
					cancel(&stoppedError{sig.(syscall.Signal)})
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	machine := boot.Here(runner(c.reaper), c.log)
	machine.Began = c.began
	result, err := boot.Run(ctx, machine)
	cancel(nil)
	<-watching // from here on signals are for others
	if stopped := (*stoppedError)(nil); errors.As(context.Cause(ctx), &stopped) {
		err = stopped
	}
	return result, err
}

// start starts the main program, which the container's command names, where the container was told to start it.
func (c *container) start(result *boot.Result) (*mainprog.Running, error) {
	env := result.Environ()
	path, argv := entry.Route(c.command, lookup(env, "PATH"))
	// With this line the log has the whole time since our first instruction. It comes before the start, because what
	// follows is the program's to say.
	c.log.Info("boot", "step", "main program", "at", time.Since(c.began))
	return mainprog.Start(c.reaper, mainprog.Program{
		Path: path, Argv: argv, Env: env, Dir: lookup(env, "HERMES_ORIG_CWD"), User: result.Service(),
	}, c.terminal)
}

// failureCode is the status of a container whose main program was never started.
func failureCode(err error) int {
	var (
		stopped *stoppedError
		held    *lease.HeldError
		start   *mainprog.StartError
	)
	switch {
	case errors.As(err, &stopped):
		return 128 + int(stopped.signal)
	case errors.As(err, &held):
		return exitConfig
	case errors.As(err, &start):
		return start.Code()
	}
	return exitBoot
}

// stoppedError is a boot that somebody ended.
type stoppedError struct{ signal syscall.Signal }

func (e *stoppedError) Error() string { return fmt.Sprintf("boot stopped by %v", e.signal) }

// say writes a line that everybody gets to see.
func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "hermes-init: "+format+"\n", a...) }
