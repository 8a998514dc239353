package guest

import (
	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/wire"
)

// serveKey takes the key of callers who come through the container. It may be changed
// by those who do not: they could do anything else, too.
func (s *Server) serveKey(w *wire.Writer, req wire.Key) {
	if s.config.Lock == nil || len(req.Key) != len(contained.Key{}) {
		fail(w, wire.FailureBadRequest, "this guest takes no such key")
		return
	}
	s.config.Lock.Set(contained.Key(req.Key))
	w.Write(wire.TypeOK, nil)
}

// Started says whether any command was started.
func (s *Server) Started() bool { return s.started.Load() }
