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
	running, usage := s.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	usage.Finished = s.ends
	st := wire.Status{Build: s.config.Build, PID: os.Getpid(), Connections: s.connections, Commands: s.running,
		Processes: running, Shell: s.shell.path, Idle: bootTime() - s.lastUse, Usage: &usage}
	for name := range s.sessions {
		st.Sessions = append(st.Sessions, name)
	}
	if s.running > 0 || s.connections > 0 {
		st.Idle = 0
	}
	return st
}

// look says how many processes of commands live, and what they and those before them have used. What this guest itself
// uses is the sandbox's, too.
func (s *Server) look() (running int, used wire.Usage) {
	count := func(p proc.Process) {
		used.CPU += p.Spent + p.Ended
		used.Memory += p.Resident
	}
	if s.config.Beside {
		self, _ := proc.Read(os.Getpid())
		count(self)
		descendants(func(pid int) {
			running++
			p, _ := proc.Read(pid) // one that has ended since counts nothing
			count(p)
		})
		return running, used
	}
	for _, p := range proc.All() {
		count(p)
		if p.PID != os.Getpid() && p.PID != 1 && p.Parent != 0 && !p.Zombie {
			running++
		}
	}
	return running, used
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
