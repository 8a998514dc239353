package guest

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/wire"
)

const (
	defaultWindow = 64 << 20
	defaultGrace  = 2 * time.Second
)

// command is one execution, from its request until its id is forgotten.
//
// Its life: made by Server.begin, started by start, watched by supervise, which
// alone decides how it ended and closes done. Callers come and go meanwhile.
type command struct {
	id      string
	request wire.Exec
	pid     int
	began   time.Duration
	tree    tree
	stdin   *os.File // nil when there is none (any more)
	stdinMu sync.Mutex
	// master is our end of the terminal, when there is one. We also keep the
	// command's end until it has exited: a program that closes its descriptors
	// before it exits would otherwise hang up its own terminal.
	master, slave  *os.File
	stdout, stderr *output // the same one when they are merged
	pumps          []*pump
	fallback       string
	state          *stateTransfer
	script         *os.File // the line, where it is too long for an argument
	oomBefore      int64
	lookupsBefore  int64
	memory, disk   int64         // output kept after the end
	retained       time.Duration // when it was done with
	// background is set for a background process, which lives as others do, but
	// keeps its output in a log and is remembered by the registry.
	background *background

	ready   chan struct{} // closed when it was launched, or could not be
	stop    chan ending   // asks supervise to end the tree
	callers atomic.Int32
	exit    atomic.Pointer[wire.Exit]
	done    chan struct{}
}

// ending is a request to end a command's tree.
type ending struct {
	reason wire.Reason
	grace  time.Duration
}

func newCommand(req wire.Exec) *command {
	if req.Window <= 0 {
		req.Window = defaultWindow
	}
	if req.Grace <= 0 {
		req.Grace = defaultGrace
	}
	return &command{id: req.ID, request: req, began: bootTime(), ready: make(chan struct{}), stop: make(chan ending, 1), done: make(chan struct{})}
}

// start makes the descriptors and starts the process. What fails here ends the
// command with the status a shell would give.
func (c *command) start(s *Server, sc *spawn.Command) (<-chan syscall.WaitStatus, error) {
	if c.background == nil {
		c.makeOutputs(s.config.Spool)
	}
	if c.fallback != "" {
		c.stderr.Write([]byte("hermes: the working directory no longer exists; running in " + c.fallback + "\n"))
	}
	// Pumping begins when the process has: whatever wakes another thread of ours
	// before that, delays it.
	defer c.pump()
	var theirs []int // the child's ends, closed here once it has them
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
	}()
	if err := c.open(s.null, sc.Files, &theirs); err != nil {
		return nil, err
	}
	sc.Terminal = c.request.TTY != nil
	c.oomBefore, c.lookupsBefore = readOOM(s.config.OutOfMemory), s.names.lookups()
	var exited <-chan syscall.WaitStatus
	var err error
	c.pid, exited, c.tree, err = s.startTree(sc, c.id, func(p proc.Process) bool { return s.ownedByAnother(c, p) })
	return exited, err
}

// makeOutputs makes what the output of a command is kept in for its callers.
func (c *command) makeOutputs(spool *os.File) {
	var ring func() (*os.File, error)
	if spool != nil {
		ring = spoolDir{spool}.newRing
	}
	c.stdout = newOutput(c.request.Window, ring)
	c.stderr = c.stdout
	if !c.request.Merge && c.request.TTY == nil {
		c.stderr = newOutput(c.request.Window, ring)
	}
}

// startTree starts a process as the first of a tree that can be ended as a whole.
// Foreign says which of the guest's children belong to other trees.
func (s *Server) startTree(sc *spawn.Command, id string, foreign func(proc.Process) bool) (int, <-chan syscall.WaitStatus, tree, error) {
	s.started.Store(true)
	entry := wire.ExecVariable + "=" + s.config.Name + id
	sc.Env = append(sc.Env, entry)
	sc.UID, sc.GID, sc.Rlimits = s.config.UID, s.config.GID, s.config.Rlimits
	if s.cgroups == nil && s.reaper.marks != nil {
		t := &markTree{s.reaper.marks, s.nextNumber()}
		sc.Cgroup, sc.Rlimits = -1, slices.Concat(sc.Rlimits, t.marks.limits(t.number))
		pid, exited, err := s.reaper.start(sc)
		return pid, exited, t, err
	}
	if s.cgroups == nil {
		sc.Cgroup, sc.Subreaper = -1, true
		pid, exited, err := s.reaper.start(sc)
		if err != nil {
			return 0, nil, nil, err
		}
		return pid, exited, newLineageTree(pid, entry, foreign), nil
	}
	t, err := s.cgroups.take()
	if err != nil {
		return 0, nil, nil, err
	}
	sc.Cgroup, sc.Namespaces = int(t.dir.Fd()), unix.CLONE_NEWCGROUP
	pid, exited, err := s.reaper.start(sc)
	if err != nil {
		t.close()
		return 0, nil, nil, err
	}
	return pid, exited, t, nil
}

// supervise waits for the end, whichever way it comes, and publishes it.
func (c *command) supervise(s *Server, exited <-chan syscall.WaitStatus, alarm *alarm) {
	defer alarm.stop()
	go alarm.wait()
	end := ending{wire.ReasonExit, c.request.Grace}
	var status syscall.WaitStatus
	select {
	case status = <-exited:
	case <-alarm.C:
		end.reason = wire.ReasonTimeout
	case end = <-c.stop:
	}
	exit := wire.Exit{Reason: end.reason, CwdFallback: c.fallback}
	if end.reason != wire.ReasonExit {
		exit.Survivors = endTree(c.tree, end.grace)
		select {
		case status = <-exited:
		case <-time.After(time.Second):
			status = syscall.WaitStatus(syscall.SIGKILL) // it is among the survivors
		}
		s.reaper.reapAll() // until then its dead count to the limit of processes
	}
	c.release()
	c.drain()
	c.judge(s, &exit, status)
	if c.state != nil {
		// What runs in the background uses a session and does not change it: it
		// may end when nobody thinks of it any more.
		exit.Cwd = c.state.finish(c.background == nil && (exit.Reason == wire.ReasonExit || exit.Reason == wire.ReasonSignal))
	}
	c.finish(s, exit)
}

// judge turns the wait status and the reason into what the caller is told.
func (c *command) judge(s *Server, exit *wire.Exit, status syscall.WaitStatus) {
	switch exit.Reason {
	case wire.ReasonTimeout:
		exit.Code = 124
		c.note("[Command timed out after " + seconds(c.request.Timeout) + "s]")
	case wire.ReasonInterrupted:
		exit.Code = 130
		c.note("[Command interrupted]")
	case wire.ReasonLost:
		exit.Code = 130
	case wire.ReasonKilled:
		exit.Code = status.ExitStatus()
		if status.Signaled() {
			exit.Signal, exit.Code = int(status.Signal()), 128+int(status.Signal())
		}
	default:
		exit.Code = status.ExitStatus()
		if status.Signaled() {
			exit.Reason, exit.Signal, exit.Code = wire.ReasonSignal, int(status.Signal()), 128+int(status.Signal())
		}
		if exit.Code != 0 && s.names.lookups() > c.lookupsBefore {
			c.note(noNetworkHint)
		}
		if exit.Code == 128+int(syscall.SIGKILL) && readOOM(s.config.OutOfMemory) > c.oomBefore {
			exit.Reason = wire.ReasonOutOfMemory
			exit.Message = "a process of the command was killed because the sandbox's memory limit was reached"
		}
	}
}

// note adds a line of ours to the command's output.
func (c *command) note(line string) {
	if !c.stdout.endsInLine() && c.stderr == c.stdout || !c.stderr.endsInLine() {
		line = "\n" + line
	}
	c.stderr.Write([]byte(line + "\n"))
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// finish publishes the exit. From here on the command's output has an end, even
// if a background child goes on writing; what it writes is still taken, so that
// it neither blocks nor dies.
func (c *command) finish(s *Server, exit wire.Exit) {
	exit.Duration = bootTime() - c.began
	if c.stdout != nil {
		exit.Stdout = c.stdout.size()
		if c.stderr != c.stdout {
			exit.Stderr = c.stderr.size()
		}
	}
	if c.background != nil {
		c.background.ended = time.Now().UTC()
	}
	c.exit.Store(&exit)
	if c.stdout != nil {
		c.stdout.wake()
		c.stderr.wake()
	}
	s.settle(c)
	if c.background != nil {
		s.endBackground(c)
	}
	close(c.done)
	s.retain(c)
}

// measure notes how much of the output is kept.
func (c *command) measure() {
	if c.stdout == nil {
		return
	}
	c.memory, c.disk = c.stdout.kept()
	if c.stderr != c.stdout {
		m, d := c.stderr.kept()
		c.memory, c.disk = c.memory+m, c.disk+d
	}
}

// drop forgets the output.
func (c *command) drop() {
	if c.stdout != nil {
		c.stdout.drop()
		c.stderr.drop()
	}
}

// release lets go of what we hold for a command that runs no longer, so that its
// output can end.
func (c *command) release() {
	c.closeStdin()
	if c.slave != nil {
		c.slave.Close()
	}
}

func (c *command) closeStdin() {
	c.stdinMu.Lock()
	defer c.stdinMu.Unlock()
	if c.stdin != nil && c.stdin != c.master {
		c.stdin.Close()
	}
	c.stdin = nil
}

func (c *command) writeStdin(p []byte) {
	c.stdinMu.Lock()
	f := c.stdin
	c.stdinMu.Unlock()
	if f != nil {
		f.Write(p) // a command that does not read its input loses it, as in a pipe
	}
}

// endInput tells the command that no more input comes.
func (c *command) endInput() {
	if c.master != nil {
		c.writeStdin([]byte{4}) // a terminal's end of file
		return
	}
	c.closeStdin()
}

// end asks supervise to end the command; only the first reason counts.
func (c *command) end(reason wire.Reason) { c.endWithin(reason, c.request.Grace) }

func (c *command) endWithin(reason wire.Reason, grace time.Duration) {
	select {
	case c.stop <- ending{reason, grace}:
	default:
	}
}

func (c *command) control(s *Server, req wire.Control) error {
	if req.Interrupt {
		c.end(wire.ReasonInterrupted)
	}
	if req.Kill {
		c.endWithin(wire.ReasonKilled, req.Grace)
	}
	if req.Size != nil && c.master != nil {
		if err := pty.Setsize(c.master, &pty.Winsize{Rows: req.Size.Rows, Cols: req.Size.Cols}); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}
	}
	if req.Signal > 0 && c.exit.Load() == nil {
		return s.reaper.signalGroup(c.pid, syscall.Signal(req.Signal))
	}
	return nil
}

// limit is where the command's part of an output ends, or -1 while it runs.
func (c *command) limit(stderr bool) func() int64 {
	return func() int64 {
		exit := c.exit.Load()
		switch {
		case exit == nil:
			return -1
		case stderr:
			return exit.Stderr
		default:
			return exit.Stdout
		}
	}
}

func readOOM(f *os.File) int64 {
	if f == nil {
		return 0
	}
	var buf [4096]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return 0
	}
	return cgroup.ParseOOM(buf[:n])
}
