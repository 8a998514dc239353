package install

import (
	"log/slog"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/addon/lastwords"
	"hermes.example/hermes/internal/addon/unavailable"
)

// session is one installation: a directory that is gone after it, and what its children have in common.
type session struct {
	Installer
	dir     string // private; the children's working directory and their place for temporary files
	secrets lastwords.Secrets
}

// open makes the session's directory, and takes away those of sessions that were killed. Nobody else has any: the
// caller holds the writers' lock.
func (i Installer) open() (*session, error) {
	parent := filepath.Join(i.Cache, "tmp")
	err := os.RemoveAll(parent)
	if err == nil {
		err = os.MkdirAll(parent, 0o700)
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(parent, "")
	}
	if err != nil {
		return nil, unavailable.NotWritable(i.Cache, err)
	}
	if i.Log == nil {
		i.Log = slog.New(slog.DiscardHandler)
	}
	return &session{Installer: i, dir: dir}, nil
}

func (s *session) close() {
	if err := os.RemoveAll(filepath.Dir(s.dir)); err != nil {
		s.Log.Warn("cannot remove temporary files; the next installation will", "dir", s.dir, "error", err)
	}
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

func (s *session) write(name string, data []byte) error {
	if err := os.WriteFile(s.path(name), data, 0o600); err != nil {
		return unavailable.NotWritable(s.Cache, err)
	}
	return nil
}

// forget empties directories of the cache, if that is asked for and they can be filled again.
func (s *session) forget(dirs ...string) error {
	if !s.Fresh || s.Offline {
		return nil
	}
	for _, dir := range dirs {
		if err := os.RemoveAll(dir); err != nil {
			return unavailable.NotWritable(s.Cache, err)
		}
	}
	return nil
}
