package guest

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// serveExec starts a command, or finds the one that has its id already, and
// carries its streams until the caller leaves or the command ends.
func (s *Server) serveExec(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Exec) {
	if req.ID == "" || (len(req.Argv) == 0) == (req.Line == "") {
		fail(w, wire.FailureBadRequest, "a command needs an id, and either arguments or a line")
		return
	}
	c, known, failure := s.begin(newCommand(req))
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
		if why := c.beyond(req); why != "" {
			fail(w, wire.FailureBadRequest, why)
			return
		}
		s.carry(stream, r, w, c, wire.Started{PID: c.pid, Known: true}, req)
	case s.journal.has(req.ID):
		w.WriteMessage(wire.TypeStarted, wire.Started{Known: true})
		w.WriteMessage(wire.TypeExit, lostExit())
	default:
		fail(w, wire.FailureUnknownID, "no command has the id "+strconv.Quote(req.ID))
	}
}

// beyond says what is wrong with a position that a caller cannot have been at: nobody has more than was written.
func (c *command) beyond(at wire.Attach) string {
	if c.stdout == nil {
		return ""
	}
	for _, stream := range []struct {
		name string
		out  *output
		at   int64
	}{{"output", c.stdout, at.Stdout}, {"error output", c.stderr, at.Stderr}} {
		if end := stream.out.size(); stream.at > end {
			return fmt.Sprintf("the position %d is beyond its %s, of which there are %d bytes", stream.at, stream.name, end)
		}
	}
	return ""
}

// lostExit is that of a command of which only the id is left: it ran, and whether to its end is not known any more.
func lostExit() wire.Exit {
	return wire.Exit{Code: -1, Reason: wire.ReasonLost, Message: "the command was started before the sandbox's guest ended, and how it went on is not known; it is not started again"}
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
	if req.Signal > 0 && c.background != nil && c.exit.Load() != nil {
		fail(w, wire.FailureBadRequest, "it has ended")
		return
	}
	if err := c.control(s, req); err != nil {
		fail(w, wire.FailureInternal, err.Error())
		return
	}
	w.Write(wire.TypeOK, nil)
}

// begin registers a new command under its id, once and for ever. If the id is
// known it returns the command that has it.
func (s *Server) begin(c *command) (_ *command, known bool, failure *wire.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retiring {
		return nil, false, &wire.Failure{Code: wire.FailureRetiring, Message: "the sandbox is ending"}
	}
	if earlier, ok := s.commands[c.id]; ok {
		if was, is := earlier.request.Asked, c.request.Asked; was != "" && is != "" && was != is {
			return nil, true, &wire.Failure{Code: wire.FailureReused, Message: "another command was asked for under the id " + strconv.Quote(c.id)}
		}
		return earlier, true, nil
	}
	if s.journal.has(c.id) {
		// It ran, or may have run, under an earlier guest.
		c.close(lostExit())
		s.commands[c.id] = c
		s.lastUse = c.began
		return c, true, nil
	}
	if c.background != nil {
		if failure := s.registry.add(c); failure != nil {
			return nil, false, failure
		}
	}
	s.commands[c.id] = c
	s.running++
	s.lastUse = c.began
	s.journal.add(c.id)
	return c, false, nil
}

// close makes c a command that ended before this guest began.
func (c *command) close(exit wire.Exit) {
	c.exit.Store(&exit)
	close(c.ready)
	close(c.done)
}

// launch starts the command of c, or ends it with the reason why it cannot.
func (s *Server) launch(c *command) {
	sc, err := s.prepare(c)
	if err == nil && c.background != nil {
		err = s.registry.open(s, c, sc.Dir)
	}
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
		c.takeInput(r, func() bool { return hungUp(stream) })
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
		c.forsaken(stream)
	}
	stream.Close()
	<-left
}

// bridgedStream is one of a caller's who came through the container.
type bridgedStream struct{ *yamux.Stream }

// returnBound is how long such a caller may take to come back when the whole line broke:
// a daemon that is started again breaks all lines, and nobody can tell that from a caller
// who died.
const returnBound = 10 * time.Second

// forsaken ends a command that has no caller any more.
func (c *command) forsaken(stream net.Conn) {
	if b, ok := stream.(bridgedStream); ok && b.Session().IsClosed() {
		select {
		case <-c.done:
			return
		case <-time.After(returnBound):
		}
		if c.callers.Load() > 0 {
			return
		}
	}
	c.end(wire.ReasonLost)
}

// sendOutput sends what the followers of standard output and standard error
// yield, until the command has ended or the caller is gone.
func (c *command) sendOutput(w *wire.Writer, followers []*follower) {
	var sending sync.Mutex
	defer c.greet(w, &sending)()
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

// quiet is how long the word that a command has begun may wait for its first output, to travel with it: most commands
// are quicker, and waking the caller twice costs more than the wait.
const quiet = 10 * time.Millisecond

// greet sees to it that the caller of a command that says nothing learns that it has begun. The returned function ends
// that; after it nobody else writes.
func (c *command) greet(w *wire.Writer, sending *sync.Mutex) (stop func()) {
	over := false
	timer := time.AfterFunc(quiet, func() {
		sending.Lock()
		defer sending.Unlock()
		if !over {
			w.Flush()
		}
	})
	return func() {
		timer.Stop()
		sending.Lock()
		defer sending.Unlock()
		over = true
	}
}

// takeInput feeds the command until the caller's end of the stream closes. Gone
// says whether it has, without reading what may still be in it.
func (c *command) takeInput(r *wire.Reader, gone func() bool) {
	input := make(chan []byte)
	defer close(input)
	taken := make(chan struct{}, 1)
	go func() {
		for p := range input {
			c.writeStdin(p)
			taken <- struct{}{}
		}
	}()
	for {
		frame, err := r.Next()
		if err != nil {
			return
		}
		switch frame.Type {
		case wire.TypeStdin:
			input <- frame.Payload
			if !accepted(taken, gone) {
				return // the command still gets what it was sent, if it ever reads
			}
		case wire.TypeStdinEOF:
			c.endInput()
		}
	}
}

// lookAfter is how often we look for the caller while its command does not read.
const lookAfter = 200 * time.Millisecond

// accepted waits until the input was taken, or its sender is gone.
func accepted(taken <-chan struct{}, gone func() bool) bool {
	for {
		select {
		case <-taken:
			return true
		case <-time.After(lookAfter):
			if gone() {
				return false
			}
		}
	}
}

// hungUp says whether the caller's end of a stream is closed.
func hungUp(stream net.Conn) bool {
	if s, ok := stream.(interface{ Session() *yamux.Session }); ok {
		return s.Session().IsClosed()
	}
	conn, ok := stream.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		closed = err == nil && n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return closed || err != nil
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
