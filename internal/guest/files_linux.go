package guest

import (
	"bytes"
	"net"

	"hermes.example/hermes/internal/guest/files"
	"hermes.example/hermes/internal/ownthread"
	"hermes.example/hermes/internal/wire"
)

// filesAtOnce bounds the threads that serve files.
const filesAtOnce = 32

// serveFile answers a request about files on a thread with a command's rights: what
// is in the sandbox, links to begin with, was put there by commands, and must not
// make the guest do what they may not.
func (s *Server) serveFile(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.File) {
	defer s.rest()
	if len(req.Root) == 0 {
		req.Root = []byte("/")
		req.Path, req.To = s.fromCwd(req.Path), s.fromName(req)
	}
	var watch *files.Watch
	err := s.asCommand(func() (err error) {
		if req.Op == wire.FileWatch {
			watch, err = files.OpenWatch(req)
			return err
		}
		files.Serve(req, r, w, func() bool { return hungUp(stream) })
		return nil
	})
	switch {
	case err != nil:
		w.WriteMessage(wire.TypeError, files.Failure(err))
	case watch != nil:
		watch.Run(stream, r, w)
	}
}

// fromCwd makes a path that does not begin with a slash one below the directory in
// which commands begin.
func (s *Server) fromCwd(path []byte) []byte {
	if bytes.HasPrefix(path, []byte("/")) {
		return path
	}
	return append([]byte(s.config.Cwd+"/"), path...)
}

// fromName is what To means: a path only where something is renamed.
func (s *Server) fromName(req wire.File) []byte {
	if req.Op == wire.FileRename {
		return s.fromCwd(req.To)
	}
	return req.To
}

// asCommand runs f with the rights of a command, and no others.
func (s *Server) asCommand(f func() error) error {
	s.serving <- struct{}{}
	defer func() { <-s.serving }()
	done := make(chan error, 1)
	go ownthread.Run(func() {
		err := s.config.ActAsCommand()
		if err == nil {
			err = f()
		}
		done <- err
	})
	return <-done
}

// rest gives memory back some time after the last request that used much of it.
func (s *Server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim.Reset(trimAfter)
}
