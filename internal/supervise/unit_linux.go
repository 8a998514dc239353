package supervise

import (
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unit is one service as a state machine. Its events are the methods of this file that switch on the state; each is
// called with mu held and never blocks. What takes time is done by the goroutine of the process (see live), by
// probes, or waited for by the one timer, and comes back as another event.
type unit struct {
	mu      sync.Mutex
	s       *Supervisor
	service *Service
	want    bool
	leaving bool // it is forgotten as soon as nothing of it runs
	rushed  bool // there is no grace any more
	gone    chan struct{}
	changed chan struct{} // closed with every change, and replaced

	state    State
	since    time.Time
	reason   string
	next     time.Time
	last     *Exit
	restarts int
	history  history

	process *process      // from its start until all of its tree has ended
	running bool          // its first process has not been seen to end
	end     ending        // why it ends, or ended
	unfit   string        // in what way it was not
	ready   time.Duration // how long the last process was ready
	misses  int           // health checks that failed in a row
	timer   *time.Timer   // of the state: it dies with it
}

// ending is why a process ends.
type ending int

const (
	byItself ending = iota
	asked           // somebody wants it to
	failing         // it was not ready in time, or is not well
)

func newUnit(s *Supervisor, service *Service) *unit {
	return &unit{s: s, service: service, state: Down, since: time.Now(), gone: make(chan struct{}), changed: make(chan struct{})}
}

// start is somebody's wish.
func (u *unit) start() {
	if u.leaving {
		return
	}
	u.want = true
	switch u.state {
	case Down, Parked, Backoff:
		u.forgetFailures()
		u.launch()
	case Starting, Up, Ready:
	case Halting:
		u.end = asked // whatever it ends of, it comes back at once
	}
	u.tell()
}

// stop is somebody's wish.
func (u *unit) stop() {
	u.want = false
	switch u.state {
	case Down:
	case Parked, Backoff:
		u.enter(Down, "")
	case Starting: // ended as soon as it has started
	case Up, Ready:
		u.halt(asked, "")
	case Halting:
		u.end = asked
	}
	u.tell()
}

// restart is somebody's wish.
func (u *unit) restart() {
	switch u.state {
	case Up, Ready:
		u.want = true
		u.forgetFailures()
		u.halt(asked, "")
		u.tell()
	default:
		u.start()
	}
}

// launch starts a process; its goroutine brings the next event, started or notStarted.
func (u *unit) launch() {
	u.enter(Starting, "")
	u.end, u.ready, u.misses = byItself, 0, 0
	service := u.service
	u.s.alive.Go(func() { u.s.live(u, service) })
}

// started is the event that there is a process.
func (u *unit) started(p *process) {
	switch u.state {
	case Starting:
		u.process, u.running = p, true
		u.enter(Up, "")
		if !u.want || p.service != u.service {
			u.halt(asked, "")
			return
		}
		u.awaitReadiness()
	default:
		u.impossible("started")
	}
}

// notStarted is the event that there is none, because the command cannot be executed or the machine is exhausted.
func (u *unit) notStarted(err error) {
	switch u.state {
	case Starting:
		u.settle(failed, err.Error())
	default:
		u.impossible("notStarted")
	}
}

// isReady is the event that the service can be used.
func (u *unit) isReady(p *process) {
	if u.process != p || u.state != Up {
		return // it is late
	}
	u.enter(Ready, "")
	u.awaitHealth()
}

// exited is the event that the first process has ended. The rest of its tree is being ended.
func (u *unit) exited(status syscall.WaitStatus) {
	u.last, u.running = exitOf(status), false
	switch u.state {
	case Ready:
		u.ready = time.Since(u.since)
		u.enter(Halting, "")
	case Up:
		u.enter(Halting, "")
	case Halting:
		u.tell()
	default:
		u.impossible("exited")
	}
}

// stuck is the event that the kill left processes, which goes on.
func (u *unit) stuck(pids []int) {
	u.reason = fmt.Sprintf("processes %v do not end", pids)
	u.s.journal.tell(slog.LevelError, "a service cannot be killed", "service", u.service.Name, "pids", pids)
	u.tell()
}

// ended is the event that nothing of the tree lives, but what cannot be killed.
func (u *unit) ended(p *process, survivors []int) {
	if len(survivors) > 0 {
		u.stuck(survivors)
	}
	ran := time.Since(p.began)
	u.process = nil
	switch u.state {
	case Halting:
		switch {
		case u.end == asked:
			u.settle(again, "")
		case u.end == failing:
			u.settle(failed, u.unfit)
		default:
			u.settle(judge(*u.last, ran))
		}
	default:
		u.impossible("ended")
	}
}

// settle decides what follows when nothing runs any more.
func (u *unit) settle(v verdict, why string) {
	switch {
	case u.leaving:
		u.enter(Down, "")
		u.s.forget(u)
		close(u.gone)
	case !u.want:
		u.enter(Down, "")
	case v == park:
		u.park(why)
	case v == again:
		if u.end != asked {
			u.restarts++
		}
		u.launch()
	default:
		u.fail(why)
	}
}

// fail brings the service back after a pause, or not any more.
func (u *unit) fail(why string) {
	r := u.service.Restart.defaults()
	now := time.Now()
	if u.history.failed(r, now, u.ready) {
		u.park(fmt.Sprintf("failed %d times within %s; last: %s; start it again with \"hermes service start %s\"", len(u.history.times), brief(r.Window), why, u.service.Name))
		return
	}
	pause := r.pause(u.history.inARow, u.s.jitter())
	u.enter(Backoff, why)
	u.next = now.Add(pause)
	u.after(pause, func() {
		u.restarts++
		u.launch()
	})
}

// park leaves it down until somebody starts it.
func (u *unit) park(why string) {
	u.forgetFailures()
	u.enter(Parked, why)
}

// halt asks the process to end. When its grace is over its tree is killed.
func (u *unit) halt(why ending, reason string) {
	if u.state == Ready {
		u.ready = time.Since(u.since)
	}
	p := u.process
	u.end, u.unfit = why, reason
	u.enter(Halting, reason)
	stop := p.service.Stop.defaults()
	p.signal(syscall.Signal(stop.Signal))
	if u.rushed {
		p.kill()
		return
	}
	u.after(stop.Grace, p.kill)
}

// leave is somebody's wish to end and forget it.
func (u *unit) leave() {
	if u.leaving {
		return
	}
	u.leaving = true
	u.stop()
	if u.state == Down {
		u.settle(park, "")
	}
}

// grace is how long it may take to end by itself.
func (u *unit) grace() (d time.Duration) {
	u.on(func() { d = u.service.Stop.defaults().Grace })
	return d
}

// hurry ends every grace.
func (u *unit) hurry() {
	u.rushed = true
	if u.state == Halting {
		u.process.kill()
	}
}

func (u *unit) forgetFailures() { u.history, u.restarts = history{}, 0 }

// enter changes the state. The timer of the last one goes with it.
func (u *unit) enter(state State, reason string) {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if state != u.state {
		u.report(state, reason)
	}
	u.state, u.since, u.reason, u.next = state, time.Now(), reason, time.Time{}
	u.tell()
}

// report tells the log of a new state.
func (u *unit) report(state State, reason string) {
	level := slog.LevelInfo
	if state == Parked || state == Backoff {
		level = slog.LevelWarn
	}
	args := []any{"name", u.service.Name, "state", string(state), "was", string(u.state)}
	if reason != "" {
		args = append(args, "reason", reason)
	}
	u.s.journal.tell(level, "service", args...)
}

// tell wakes who waits for a change.
func (u *unit) tell() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// after brings an event when a while has passed, if the state is still the same then.
func (u *unit) after(d time.Duration, event func()) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.timer == t {
			u.timer = nil
			event()
		}
	})
	u.timer = t
}

// impossible is a bug, and says so. A supervisor that ends itself for it would take every other service along.
func (u *unit) impossible(event string) {
	u.s.journal.tell(slog.LevelError, "bug: an event that cannot be", "service", u.service.Name, "event", event, "state", string(u.state))
}

func (u *unit) status() Status {
	st := Status{Name: u.service.Name, Want: "down", State: u.state, Since: u.since, Reason: u.reason, Next: u.next, Last: u.last, Restarts: u.restarts}
	if u.want {
		st.Want = "up"
	}
	if u.running {
		st.PID = u.process.pid
	}
	return st
}

// defaults fills in what is zero.
func (s Stopping) defaults() Stopping {
	if s.Signal == 0 {
		s.Signal = int(unix.SIGTERM)
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	return s
}

// exitOf reads what wait4 told.
func exitOf(status syscall.WaitStatus) *Exit {
	e := &Exit{Code: status.ExitStatus(), At: time.Now()}
	if status.Signaled() {
		e.Code = 128 + int(status.Signal())
		e.Signal = signalName(status.Signal())
	}
	return e
}

// signalName is a number for signals without a name, as those of real time.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}

// brief is a duration without its zeros: 15m, not 15m0s.
func brief(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
