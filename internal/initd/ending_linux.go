package initd

import (
	"context"
	"os"
	"syscall"
	"time"

	"hermes.example/hermes/internal/mainprog"
)

// endGrace is what the main program and the services have to end in, together and at the same time. With what
// follows it is less than the ten seconds after which "docker stop" kills.
const endGrace = 7 * time.Second

// phase is where a container is on its way to the end.
type phase int

const (
	running phase = iota
	ending        // the main program ended by itself, and the services were asked to
	asked         // somebody wants the container to end: the main program and the services were asked to
	hurried       // whatever still ran was killed
)

// watchman leads a container from the start of its main program to its end. It is one loop: only its events, a method
// each, change its phase.
type watchman struct {
	main *mainprog.Running
	// stop ends all services, and kills what still runs of them when its context ends.
	stop func(context.Context)

	phase    phase
	services chan struct{}      // closed when the services have ended
	grace    <-chan time.Time   // the end of the time that all have
	hurry    context.CancelFunc // makes stop kill
}

// wait returns the main program's status when it and all services have ended.
func (w *watchman) wait(signals <-chan os.Signal) (code int) {
	w.services = make(chan struct{})
	ended, services := w.main.Ended(), w.services
	for ended != nil || services != nil {
		select {
		case code = <-ended:
			ended = nil
			w.mainEnded()
		case <-services:
			services = nil
		case sig := <-signals:
			w.signalled(sig.(syscall.Signal))
		case <-w.grace:
			w.kill()
		}
	}
	w.hurry() // nothing is left to hurry
	return code
}

func (w *watchman) mainEnded() {
	if w.phase == running {
		w.end(ending)
	}
}

// signalled hands a signal on. SIGTERM is also for us: the first one begins the end, and one more hurries it.
func (w *watchman) signalled(sig syscall.Signal) {
	switch {
	case sig != syscall.SIGTERM:
		w.main.Signal(sig)
	case w.phase == running:
		w.main.Signal(sig)
		w.end(asked)
	case w.phase == ending:
		w.phase = asked
	case w.phase == asked:
		w.kill()
	case w.phase == hurried:
	}
}

// end begins the end of the services.
func (w *watchman) end(p phase) {
	w.phase = p
	w.grace = time.After(endGrace)
	var ctx context.Context
	ctx, w.hurry = context.WithCancel(context.Background())
	go func() {
		defer close(w.services)
		w.stop(ctx)
	}()
}

// kill ends the patience with everything.
func (w *watchman) kill() {
	w.phase = hurried
	w.hurry()
	w.main.Signal(syscall.SIGKILL)
}
