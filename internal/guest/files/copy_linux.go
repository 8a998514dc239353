package files

import (
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/tartree"
	"hermes.example/hermes/internal/wire"
)

// copyIn unpacks the caller's stream into a directory that is there.
func (s *service) copyIn() error {
	fd, _, err := s.look(s.path(), unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	res, err := tartree.Unpack(fd, wire.NewDataReader(s.r), tartree.Options{Limits: s.limits()})
	if err != nil {
		return err
	}
	return s.w.WriteMessage(wire.TypeFileEnd, result(res))
}

// copyOut packs a file or directory. Links on the way to it are followed, those in it are not.
func (s *service) copyOut() error {
	fd, _, err := s.look(s.path(), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	out := wire.NewDataWriter(s.w)
	res, err := tartree.Pack(out, fd, string(s.req.To), s.limits())
	if err != nil {
		return err
	}
	return out.End(result(res))
}

func (s *service) limits() tartree.Limits {
	return tartree.Limits{Bytes: s.req.Limit, Entries: s.req.Entries}
}

func result(r tartree.Result) wire.FileResult {
	return wire.FileResult{Bytes: r.Bytes, Entries: r.Entries, Skipped: r.Skipped, Changed: r.Changed}
}
