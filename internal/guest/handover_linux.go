package guest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/internal/guest/shellstate"
	"hermes.example/hermes/internal/wire"
)

const (
	// handOverBound is how long a caller may take to read the sessions of a guest
	// that ends.
	handOverBound = 10 * time.Second
	// inheritBound is how long sessions are awaited that were announced: who has
	// them may have been killed.
	inheritBound = 10 * time.Second
)

// handOver sends every session. Nothing runs any more that could change one.
func (s *Server) handOver(w *wire.Writer) {
	s.mu.Lock()
	all := make([]*session, 0, len(s.sessions))
	for _, sess := range s.sessions {
		all = append(all, sess)
	}
	s.mu.Unlock()
	plain := s.plainState()
	for _, sess := range all {
		sess.mu.Lock()
		st := sess.state
		h := wire.Handed{Name: sess.name, Cwd: st.Cwd, Env: st.Env, Attrs: st.Attrs, Functions: st.Functions, Aliases: st.Aliases,
			PlainEnv: plain.Env, PlainCwd: plain.Cwd}
		err := w.WriteMessage(wire.TypeHanded, h)
		sess.mu.Unlock()
		if errors.Is(err, wire.ErrMessageTooLarge) {
			err = w.WriteMessage(wire.TypeHanded, wire.Handed{Name: sess.name, Lost: err.Error()})
		}
		if err != nil {
			return // the caller is gone
		}
	}
}

// serveInherit takes sessions of the guest that was here before.
func (s *Server) serveInherit(r *wire.Reader, w *wire.Writer) {
	defer s.endInheriting() // also when the caller is gone: what came is whole
	var answer wire.Inherited
	for number, size := 0, 0; ; number++ {
		frame, err := r.NextMessage()
		if err != nil {
			return
		}
		if frame.Type == wire.TypeOK {
			break
		}
		if size += len(frame.Payload); number >= wire.MaxHanded || size > wire.MaxHandedBytes {
			fail(w, wire.FailureBadRequest, fmt.Sprintf("more than %d sessions, or %d bytes", wire.MaxHanded, wire.MaxHandedBytes))
			return
		}
		var h wire.Handed
		if err = frame.Decode(&h); err == nil {
			err = s.inherit(h)
		}
		if err != nil {
			answer.Lost = fmt.Sprintf("session %q: %v", h.Name, err)
			continue
		}
		answer.Sessions = append(answer.Sessions, h.Name)
	}
	s.endInheriting() // before the caller relies on it
	w.WriteMessage(wire.TypeInherited, answer)
}

// inherit begins a session where it ended in another guest. One that has begun here
// stays as it is.
func (s *Server) inherit(h wire.Handed) error {
	if h.Name == "" {
		return errors.New("it has no name")
	}
	state := shellstate.State{Env: h.Env, Attrs: h.Attrs, Functions: h.Functions, Aliases: h.Aliases, Cwd: h.Cwd}
	if err := state.Check(); err != nil {
		return err
	}
	state.Rebase(shellstate.State{Env: h.PlainEnv, Cwd: h.PlainCwd}, s.plainState())
	sess := &session{name: h.Name, state: state}
	sess.once.Do(func() {}) // the login scripts had their say
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[h.Name] != nil {
		return errors.New("it has begun already")
	}
	s.sessions[h.Name] = sess
	return nil
}

// endInheriting lets sessions begin.
func (s *Server) endInheriting() { s.inherits.Do(func() { close(s.inherited) }) }

// plainState is what a session begins with before the login scripts.
func (s *Server) plainState() shellstate.State {
	plain := shellstate.State{Env: make(map[string]string), Cwd: s.config.Cwd}
	for _, e := range s.config.Env {
		name, value, _ := strings.Cut(e, "=")
		plain.Env[name] = value
	}
	return plain
}
