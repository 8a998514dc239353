package guest

import (
	"errors"
	"net"
	"sync"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Door is a way in to the guest.
type Door struct {
	net.Listener
	// Admit says whether whoever connected may speak to the guest; nil admits
	// everybody who can connect.
	Admit func(net.Conn) bool
	// Bridged says that a connection through it passes the container and was dear.
	Bridged bool
}

// Serve answers callers until the sandbox retires.
func (s *Server) Serve(doors ...Door) error {
	dropSignals()
	go s.reaper.run()
	if s.config.Ephemeral {
		time.AfterFunc(firstCaller, s.awaitCaller)
	}
	if s.config.Successor {
		time.AfterFunc(inheritBound, s.endInheriting)
	}
	if s.names != nil {
		go s.names.run()
	}
	if s.config.StopSignal != 0 {
		s.retireOn(s.config.StopSignal)
	}
	var open sync.WaitGroup
	for _, d := range doors {
		open.Go(func() { s.serveDoor(d) })
	}
	<-s.ended
	for _, d := range doors {
		d.Close()
	}
	open.Wait()
	if s.config.Beside {
		s.endAll()
	}
	return nil
}

func (s *Server) serveDoor(d Door) {
	for {
		conn, err := d.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Too many descriptors or too little memory: a caller waits, and
			// everything that ends makes room.
			time.Sleep(acceptPause)
		default:
			go s.serveConn(conn, d)
		}
	}
}

// acceptPause is how long the guest waits when it cannot take another caller.
const acceptPause = 10 * time.Millisecond

// firstCaller is how long an ephemeral sandbox waits for whom it was made for.
const firstCaller = 30 * time.Second

// awaitCaller ends an ephemeral sandbox that nobody ever came for: its maker may
// have been killed just after it had made it.
func (s *Server) awaitCaller() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.visited {
		s.retire()
	}
}

func (s *Server) hello(d Door) wire.Hello {
	can := []string{wire.CanReplay, wire.CanSessions, wire.CanTerminal, wire.CanRetire, wire.CanProcesses, wire.CanProbe, wire.CanHandOver}
	if !d.Bridged {
		can = append(can, wire.CanDirect)
	}
	if s.config.ActAsCommand != nil {
		can = append(can, wire.CanFiles)
	}
	return wire.Hello{Major: wire.Major, Minor: wire.Minor, Build: s.config.Build, Capabilities: can}
}

func (s *Server) serveConn(conn net.Conn, d Door) {
	defer conn.Close()
	if d.Admit != nil && !d.Admit(conn) {
		return
	}
	if s.config.Beside {
		s.lines.Store(conn, nil)
		defer s.lines.Delete(conn)
	}
	theirs, r, err := wire.Greet(conn)
	if err != nil {
		return
	}
	if !theirs.Observer {
		if !s.enter() {
			return // before the greeting, so that the caller knows that nothing has begun
		}
		defer s.leave()
	}
	if theirs.Direct {
		w := wire.NewWriter(conn)
		if w.QueueMessage(wire.TypeHello, s.hello(d)) == nil {
			s.serveStream(conn, r, w)
		}
		return
	}
	mux, err := wire.Serve(conn, s.hello(d))
	if err != nil {
		return
	}
	defer mux.Close()
	var streams sync.WaitGroup
	defer streams.Wait()
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			return
		}
		streams.Add(1)
		go func() {
			defer streams.Done()
			defer stream.Close()
			s.serveStream(stream, wire.NewBufferedReader(stream), wire.NewWriter(stream))
		}()
	}
}
