package guest

import (
	"io"
	"net"
	"os"
	"time"

	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/wire"
)

// enter and leave keep the lease. Nobody enters a sandbox that is ending.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retiring {
		return false
	}
	s.connections++
	s.visited = true
	s.lastUse = bootTime()
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections--
	s.lastUse = bootTime()
	if s.config.Ephemeral && s.connections == 0 {
		s.retire()
	}
}

// retire ends the sandbox. It is called with the lock held.
func (s *Server) retire() {
	if !s.retiring {
		s.retiring = true
		close(s.ended)
	}
}

func (s *Server) status() wire.Status {
	running := s.countProcesses()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := wire.Status{Build: s.config.Build, PID: os.Getpid(), Connections: s.connections, Commands: s.running,
		Processes: running, Shell: s.shell.path, Idle: bootTime() - s.lastUse}
	for name := range s.sessions {
		st.Sessions = append(st.Sessions, name)
	}
	if s.running > 0 || s.connections > 0 {
		st.Idle = 0
	}
	return st
}

// countProcesses says how many processes of commands live.
func (s *Server) countProcesses() (n int) {
	if s.config.Beside {
		descendants(func(int) { n++ })
		return n
	}
	for _, p := range proc.All() {
		if p.PID != os.Getpid() && p.PID != 1 && p.Parent != 0 && !p.Zombie {
			n++
		}
	}
	return n
}

// serveRetire decides and acts under one lock, so nobody can come in between.
func (s *Server) serveRetire(stream net.Conn, w *wire.Writer, req wire.Retire) {
	st := s.status()
	s.mu.Lock()
	st.Connections, st.Commands = s.connections, s.running
	users := st
	if req.Held {
		users.Connections = 0
	}
	if !req.Now && (users.Busy() || bootTime()-s.lastUse < req.Idle) {
		s.mu.Unlock()
		w.WriteMessage(wire.TypeBusy, st)
		return
	}
	already := s.retiring
	s.retiring = true
	s.mu.Unlock()
	if req.HandOver {
		// Who does not read must not keep the sandbox from ending.
		stream.SetWriteDeadline(time.Now().Add(handOverBound))
		s.handOver(w)
	}
	w.WriteMessage(wire.TypeRetired, st)
	if req.HandOver {
		// Nobody but the caller has the sessions from here on: it hangs up when it has
		// read them.
		stream.SetReadDeadline(time.Now().Add(handOverBound))
		io.Copy(io.Discard, stream)
	}
	if !already {
		close(s.ended)
	}
}
