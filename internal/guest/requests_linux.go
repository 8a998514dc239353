package guest

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/wire"
)

// serveExec starts a command, or finds the one that has its id already, and
// carries its streams until the caller leaves or the command ends.
func (s *Server) serveExec(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Exec) {
	if req.ID == "" || (len(req.Argv) == 0) == (req.Line == "") {
		fail(w, wire.FailureBadRequest, "a command needs an id, and either arguments or a line")
		return
	}
	c, known, failure := s.begin(req)
	if failure != nil {
		w.WriteMessage(wire.TypeError, failure)
		return
	}
	if !known {
		s.launch(c)
		close(c.ready)
	}
	<-c.ready
	s.carry(stream, r, w, c, wire.Started{PID: c.pid, Known: known}, wire.Attach{})
}

func (s *Server) serveAttach(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Attach) {
	s.mu.Lock()
	c := s.commands[req.ID]
	s.mu.Unlock()
	switch {
	case c != nil:
		<-c.ready
		s.carry(stream, r, w, c, wire.Started{PID: c.pid, Known: true}, req)
	case s.journal.has(req.ID):
		w.WriteMessage(wire.TypeStarted, wire.Started{Known: true})
		w.WriteMessage(wire.TypeExit, lostExit())
	default:
		fail(w, wire.FailureUnknownID, "no command has the id "+strconv.Quote(req.ID))
	}
}

func lostExit() wire.Exit {
	return wire.Exit{Code: -1, Reason: wire.ReasonLost, Message: "the command was running when the sandbox's guest ended; it is not started again"}
}

func (s *Server) serveControl(w *wire.Writer, req wire.Control) {
	s.mu.Lock()
	c := s.commands[req.ID]
	s.mu.Unlock()
	if c == nil {
		fail(w, wire.FailureUnknownID, "no command has the id "+strconv.Quote(req.ID))
		return
	}
	<-c.ready
	if err := c.control(req); err != nil {
		fail(w, wire.FailureInternal, err.Error())
		return
	}
	w.Write(wire.TypeOK, nil)
}

// begin registers the command under its id, once and for ever.
func (s *Server) begin(req wire.Exec) (c *command, known bool, failure *wire.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retiring {
		return nil, false, &wire.Failure{Code: wire.FailureRetiring, Message: "the sandbox is ending"}
	}
	if c, ok := s.commands[req.ID]; ok {
		return c, true, nil
	}
	c = newCommand(req)
	s.commands[req.ID] = c
	s.running++
	s.lastUse = c.began
	if s.journal.has(req.ID) {
		// It ran, or may have run, under an earlier guest.
		exit := lostExit()
		c.exit.Store(&exit)
		s.running--
		close(c.ready)
		close(c.done)
		return c, true, nil
	}
	s.journal.add(req.ID)
	return c, false, nil
}

// launch starts the command of c, or ends it with the reason why it cannot.
func (s *Server) launch(c *command) {
	sc, err := s.prepare(c)
	var exited <-chan syscall.WaitStatus
	var timer *alarm
	if err == nil {
		if timer, err = newAlarm(c.request.Timeout); err == nil {
			exited, err = c.start(s, sc)
		}
	}
	if c.state != nil {
		c.state.closePrelude()
	}
	if c.script != nil {
		c.script.Close()
	}
	if err != nil {
		if timer != nil {
			timer.stop()
		}
		c.release()
		c.finish(s, notStarted(c.request, sc, err))
		return
	}
	go c.supervise(s, exited, timer)
}

// carry connects a caller's stream to c.
func (s *Server) carry(stream net.Conn, r *wire.Reader, w *wire.Writer, c *command, started wire.Started, from wire.Attach) {
	if err := w.QueueMessage(wire.TypeStarted, started); err != nil {
		return
	}
	c.callers.Add(1)
	var followers []*follower
	if c.stdout != nil {
		followers = append(followers, c.stdout.follow(from.Stdout))
		if c.stderr != c.stdout {
			followers = append(followers, c.stderr.follow(from.Stderr))
		}
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		c.takeInput(r)
		for _, f := range followers {
			f.Close() // the caller is gone: nobody waits for it any longer
		}
	}()
	c.sendOutput(w, followers)
	exit := c.exit.Load()
	if exit != nil {
		<-c.done
		w.WriteMessage(wire.TypeExit, exit)
	}
	if c.callers.Add(-1) == 0 && exit == nil && c.request.KillWhenLost {
		c.end(wire.ReasonLost)
	}
	stream.Close()
	<-left
}

// sendOutput sends what the followers of standard output and standard error
// yield, until the command has ended or the caller is gone.
func (c *command) sendOutput(w *wire.Writer, followers []*follower) {
	var sending sync.Mutex
	var stderr sync.WaitGroup
	if len(followers) == 2 {
		stderr.Add(1)
		go func() {
			defer stderr.Done()
			copyOut(followers[1], c.limit(true), w, &sending, wire.TypeStderr)
		}()
	}
	if len(followers) > 0 {
		copyOut(followers[0], c.limit(false), w, &sending, wire.TypeStdout)
	}
	stderr.Wait()
}

// takeInput feeds the command until the caller's end of the stream closes.
func (c *command) takeInput(r *wire.Reader) {
	for {
		frame, err := r.Next()
		if err != nil {
			return
		}
		switch frame.Type {
		case wire.TypeStdin:
			c.writeStdin(frame.Payload)
		case wire.TypeStdinEOF:
			c.endInput()
		}
	}
}

// copyOut sends what f yields until its end.
func copyOut(f *follower, limit func() int64, w *wire.Writer, sending *sync.Mutex, t wire.Type) {
	buf := newBuffer()
	defer buf.release()
	for {
		gap, n, err := f.Next(buf.bytes, limit)
		sending.Lock()
		var failed error
		if gap > 0 {
			failed = w.WriteMessage(wire.TypeGap, wire.Gap{Stderr: t == wire.TypeStderr, Bytes: gap})
		}
		if n > 0 && failed == nil {
			failed = w.Write(t, buf.bytes[:n])
		}
		sending.Unlock()
		if failed != nil {
			f.Close() // or the command would wait for a caller that is gone
			return
		}
		if err != nil {
			return
		}
		buf.grow(n)
	}
}

// prepare makes the process description: environment, directory, program.
func (s *Server) prepare(c *command) (*spawn.Command, error) {
	req := c.request
	sc := &spawn.Command{Files: make(map[int]int)}
	var sess *session
	if req.Session != "" {
		var err error
		if sess, err = s.session(req.Session); err != nil {
			return nil, err
		}
	}
	if err := s.place(c, sc, sess); err != nil {
		return sc, err
	}
	extra := req.Env
	if req.TTY != nil && req.TTY.Term != "" {
		extra = withDefault(extra, "TERM", req.TTY.Term)
	}
	switch {
	case req.Line != "" && s.shell.path == "":
		return sc, errNoShell
	case req.Line != "" && sess != nil:
		return sc, c.startFromSession(s, sc, sess, extra)
	case req.Line != "":
		sc.Path, sc.Argv = s.shell.path, []string{filepath.Base(s.shell.path), "-c", req.Line}
		if len(req.Line) >= maxArgument {
			if err := c.longLine(sc); err != nil {
				return sc, err
			}
		}
		sc.Env = mergeEnv(s.config.Env, extra)
	default:
		base := s.config.Env
		if sess != nil {
			base = sess.environment()
		}
		sc.Argv, sc.Env = req.Argv, mergeEnv(base, extra)
		var err error
		if sc.Path, err = lookPath(req.Argv[0], sc.Env, sc.Dir); err != nil {
			return sc, err
		}
	}
	return sc, nil
}

// maxArgument is the longest argument that Linux takes.
const maxArgument = 128 << 10

// longLine gives the shell a line that is too long for an argument as a file.
func (c *command) longLine(sc *spawn.Command) error {
	const fd = 9 // the highest that every shell can name
	file, err := memoryFile("line")
	if err != nil {
		return err
	}
	c.script = file
	sc.Files[fd] = int(file.Fd())
	sc.Argv[2] = ". /proc/self/fd/" + strconv.Itoa(fd)
	_, err = file.WriteString("exec " + strconv.Itoa(fd) + "<&-;" + c.request.Line)
	return err
}

// place decides the working directory. One that the caller names must exist; one
// that the session remembers may have been removed since.
func (s *Server) place(c *command, sc *spawn.Command, sess *session) error {
	remembered, env := s.config.Cwd, s.config.Env
	if sess != nil {
		remembered, env = sess.directory(), sess.environment()
	}
	want := c.request.Cwd
	switch {
	case want == "":
		existing := nearestDirectory(remembered)
		if existing != remembered {
			c.fallback = existing
		}
		sc.Dir = existing
		return nil
	case want == "~":
		want = lookup(env, "HOME")
	case strings.HasPrefix(want, "~/"):
		want = filepath.Join(lookup(env, "HOME"), want[2:])
	case !filepath.IsAbs(want):
		want = filepath.Join(remembered, want)
	}
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		return &directoryError{want}
	}
	sc.Dir = want
	return nil
}

func nearestDirectory(path string) string {
	for path != "/" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		path = filepath.Dir(path)
	}
	return "/"
}

// retain keeps a finished command for callers that come back, and forgets the
// oldest ones: their output by size, themselves by age.
func (s *Server) retain(c *command) {
	if c.tree != nil && !c.tree.close() {
		s.mu.Lock()
		s.emptied = append(s.emptied, c.tree)
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim.Reset(trimAfter)
	s.finished = append(s.finished, c)
	c.measure()
	s.memory, s.disk = s.memory+c.memory, s.disk+c.disk
	for s.memory > keptMemory || s.disk > keptDisk {
		oldest := s.finished[s.dropped]
		oldest.drop()
		s.memory, s.disk = s.memory-oldest.memory, s.disk-oldest.disk
		s.dropped++
	}
	for bootTime()-s.finished[0].began > rememberedFor {
		delete(s.commands, s.finished[0].id)
		s.finished[0].drop()
		if s.dropped > 0 {
			s.dropped--
		} else {
			s.memory, s.disk = s.memory-s.finished[0].memory, s.disk-s.finished[0].disk
		}
		s.finished = s.finished[1:]
	}
}

// settle takes a command that ended off the lease.
func (s *Server) settle(c *command) {
	left := s.leftovers(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.lastUse = bootTime()
	for pid, o := range left {
		s.orphans[pid] = o
	}
}

const (
	keptMemory    = 2 << 20
	keptDisk      = 256 << 20
	rememberedFor = 24 * time.Hour
)

// orphan is a background process that outlived its command.
type orphan struct {
	started uint64
	owner   *command
}

// leftovers finds the orphans of a command that just ended, where membership is
// known by lineage only.
func (s *Server) leftovers(c *command) map[int]orphan {
	if _, ok := c.tree.(*lineageTree); !ok {
		return nil
	}
	var found map[int]orphan
	self := os.Getpid()
	for _, name := range processNames() {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self || s.reaper.isMain(pid) {
			continue
		}
		if p, ok := readProcess(name); ok && p.parent == self && !p.zombie && !s.ownedByAnother(c, p) {
			if found == nil {
				found = make(map[int]orphan)
			}
			found[pid] = orphan{p.started, c}
		}
	}
	return found
}

// ownedByAnother says whether p, a child of the guest, belongs to a command
// other than c.
func (s *Server) ownedByAnother(c *command, p process) bool {
	if p.pid != c.pid && s.reaper.isMain(p.pid) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orphans[p.pid]
	return ok && o.started == p.started && o.owner != c
}

// cgroupName returns a name for a command's cgroup, and removes those whose
// background processes have ended meanwhile.
func (s *Server) cgroupName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.emptied[:0]
	for _, t := range s.emptied {
		if !t.close() {
			rest = append(rest, t)
		}
	}
	s.emptied = rest
	s.sequence++
	return "c" + strconv.FormatUint(s.sequence, 10)
}
