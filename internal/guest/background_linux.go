package guest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/guest/watch"
	"hermes.example/hermes/internal/wire"
)

// background is what a background process has beside what every command has.
//
// Its life: made with the command, entered in the registry before it starts,
// written down when it starts and when it has ended, and forgotten by age, by
// number or for want of room. A later guest finds it on the disk.
type background struct {
	process wire.Process // as it was asked for
	watch   *watch.Watcher
	sink    logSink
	ended   time.Time // set before the command's exit is
	inputMu sync.Mutex
}

// processID is what the ids of background processes look like. They are names of
// directories, too.
func processID(id string) bool {
	digits, ok := strings.CutPrefix(id, "proc_")
	return ok && len(digits) == 12 && strings.Trim(digits, "0123456789abcdef") == ""
}

// newBackground makes the command of a request, or says what is wrong with it.
func (s *Server) newBackground(req wire.Start) (*command, *wire.Failure) {
	wrong := func(why string) (*command, *wire.Failure) {
		return nil, &wire.Failure{Code: wire.FailureBadRequest, Message: why}
	}
	exec := req.Exec
	switch {
	case !processID(exec.ID):
		return wrong("a background process needs an id of the form proc_ and twelve hexadecimal digits")
	case (len(exec.Argv) == 0) == (exec.Line == ""):
		return wrong("a background process needs either arguments or a line")
	case exec.TTY != nil:
		return wrong("a background process has no terminal")
	case len(req.Name) > maxName || strings.HasPrefix(req.Name, "proc_"):
		return wrong("a name has at most 64 bytes and does not begin with proc_, as ids do")
	}
	exec.Merge, exec.KillWhenLost = true, false
	if exec.Window <= 0 {
		exec.Window = defaultLog
	}
	b := &background{process: wire.Process{ID: exec.ID, Name: req.Name, Argv: cutAll(exec.Argv), Line: cut(exec.Line), Session: exec.Session,
		Input: exec.Stdin, Watch: req.Watch, Notify: req.Notify, State: wire.ProcessRunning, Started: time.Now().UTC()}}
	if len(req.Watch) > 0 && req.Notify {
		b.process.Watch = nil
		b.process.Remark = "its output is not watched: a process that notifies of its end has no watch patterns"
	}
	c := newCommand(exec)
	c.background = b
	if len(b.process.Watch) > 0 {
		var err error
		b.watch, err = watch.New(b.process.Watch, &s.registry.breaker, bootTime, func(n watch.Notice) { s.events.add(b.notice(n)) })
		if err != nil {
			return wrong(err.Error())
		}
	}
	return c, nil
}

const (
	maxName = 64
	// maxShown is how much of a command is kept to be shown.
	maxShown = 4 << 10
)

func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:maxShown] + "…"
}

func cutAll(argv []string) []string {
	var shown []string
	room := maxShown
	for _, a := range argv {
		if room <= 0 {
			return append(shown, "…")
		}
		a = cut(a)
		room -= len(a)
		shown = append(shown, a)
	}
	return shown
}

// notice is a watcher's notice as an event.
func (b *background) notice(n watch.Notice) wire.Event {
	e := wire.Event{Process: b.process.ID, Name: b.process.Name, Pattern: n.Pattern, Line: n.Line, Held: n.Held, Message: n.Message}
	switch n.Kind {
	case watch.Match:
		e.Kind = wire.EventMatch
	case watch.Over:
		e.Kind = wire.EventUnwatched
	case watch.Paused:
		e.Kind = wire.EventPaused
	}
	return e
}

// describe tells what is known of a background process now.
func (c *command) describe() wire.Process {
	p := c.background.process
	p.PID = c.pid
	if c.stdout != nil {
		p.LogStart, p.LogEnd = c.stdout.bounds()
	}
	if exit := c.exit.Load(); exit != nil {
		p.State, p.Exit, p.Ended = wire.ProcessExited, exit, c.background.ended
		if exit.Reason == wire.ReasonLost {
			p.State = wire.ProcessLost
		}
	}
	return p
}

// endBackground writes down how a background process ended, before anybody who
// waits for it is told.
func (s *Server) endBackground(c *command) {
	b := c.background
	if b.watch != nil {
		b.watch.Close()
	}
	if c.stdout != nil {
		c.stdout.rest()
		s.registry.note(c)
	}
	s.tellEnd(c)
}

// tellEnd makes the end of a process an event, if that was asked for.
func (s *Server) tellEnd(c *command) {
	if p := c.describe(); p.Notify {
		s.events.add(wire.Event{Kind: wire.EventExit, Process: p.ID, Name: p.Name, State: p.State, Exit: p.Exit})
	}
}

// logSink takes the output of a background process.
type logSink struct {
	server  *Server
	command *command
}

func (k logSink) Write(p []byte) (int, error) {
	k.command.stdout.Write(p)
	if w := k.command.background.watch; w != nil {
		w.Write(p)
	}
	k.server.makeRoom(k.command)
	return len(p), nil
}

// makeRoom keeps all logs together within their bound: processes that ended first
// are forgotten first, and where all run, who writes loses its beginning.
func (s *Server) makeRoom(writer *command) {
	for s.registry.together.Load() > keptLogs {
		oldest := s.registry.takeOldest()
		if oldest == nil {
			writer.stdout.shorten()
			return
		}
		s.forget([]*command{oldest})
	}
}

// forget removes the logs of processes. Their ids are remembered as those of
// other commands are, so that none of them runs again.
func (s *Server) forget(victims []*command) {
	for _, c := range victims {
		if c.stdout != nil {
			c.stdout.drop()
			removeLog(s.registry.dir, c.id)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range victims {
		s.remember(c)
	}
}

// recall enters what earlier guests left. What ran then runs no longer: it was in
// this pid namespace's predecessor. So no process id has to be looked at, which
// somebody else may have by now.
func (s *Server) recall() {
	for _, c := range s.registry.load() {
		s.commands[c.id] = c
		if p := c.background.process; p.State == wire.ProcessRunning {
			s.registry.note(c)
			s.tellEnd(c)
		}
	}
	s.forget(s.registry.expire(time.Now()))
}

// recalled makes the command of a process that an earlier guest wrote down.
func recalled(p wire.Process, out *output) *command {
	c := newCommand(wire.Exec{ID: p.ID})
	c.stdout, c.stderr = out, out
	c.background = &background{process: p, ended: p.Ended}
	exit := lostExit()
	if p.State == wire.ProcessRunning {
		c.background.ended = time.Now().UTC()
	} else if p.Exit != nil {
		exit = *p.Exit
	}
	exit.Stdout = out.end
	c.pid = p.PID
	c.close(exit)
	return c
}

// lastRecord reads the last complete line of a record: whatever the guest was
// doing when it was killed, the line before it stands.
func lastRecord(data []byte) (wire.Process, bool) {
	var p wire.Process
	found := false
	for {
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			return p, found
		}
		var next wire.Process
		if json.Unmarshal(line, &next) == nil {
			p, found = next, true
		}
		data = rest
	}
}
