package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// endSignals ask us to end. One that is ignored from the start, as nohup does,
// stays ignored.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// watchSignals cancels the context when the process is asked to end, and ends it
// on the spot when it is asked again, unless it is a server: that one is bounded,
// and who asks twice may be its supervisor. The returned function ends the watch.
//
// SIGPIPE is taken so that a closed pipe is an error of the write and not the
// end of the process; taken, not ignored, because children inherit the latter.
func (a *app) watchSignals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 8)
	watched := []os.Signal{syscall.SIGPIPE}
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			watched = append(watched, s)
		}
	}
	signal.Notify(signals, watched...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range signals {
			switch {
			case s == syscall.SIGPIPE:
			case ctx.Err() == nil:
				cancel()
			case a.drains.Load():
			default:
				a.leaveNow()
				os.Exit(statusInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel()
	}
}

// onLeave sets what has to be undone if the process must end on the spot, and
// returns a function that undoes it in the ordinary way. Both do it once.
func (a *app) onLeave(undo func()) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leave = undo
	return a.leaveNow
}

func (a *app) leaveNow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leave != nil {
		a.leave()
		a.leave = nil
	}
}
