package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/addon/manifest"
)

// Modes of what was published. Nobody can change it by mistake; that its owner could on purpose is what Verify is for.
const (
	dirMode  fs.FileMode = 0o555
	fileMode fs.FileMode = 0o444
	execMode fs.FileMode = 0o555
	// Its owner can write it, or NFS would not let it be locked.
	lockMode fs.FileMode = 0o644
)

func modeOf(f manifest.File) fs.FileMode {
	if f.Exec {
		return execMode
	}
	return fileMode
}

// seal checks that exactly the files of the manifest are staged, and closes them. Their content was read a moment ago
// when the manifest was made. Directories without files, which wheels may have, go: no manifest tells of them.
func seal(ctx context.Context, staged Staged, m manifest.Manifest) error {
	top, err := os.ReadDir(staged.Dir)
	if err != nil {
		return err
	}
	s := sealing{ctx: ctx, rest: inventory(m), dirs: m.Dirs()}
	for _, e := range top {
		if !s.dirs[e.Name()] {
			return fmt.Errorf("%s was staged beside what the manifest has", e.Name())
		}
		if err := s.tree(filepath.Join(staged.Dir, e.Name()), e.Name()+"/"); err != nil {
			return err
		}
	}
	for name := range s.rest {
		return fmt.Errorf("the file %s of the manifest is not staged", name)
	}
	return nil
}

// sealing is one run of seal.
type sealing struct {
	ctx  context.Context
	rest map[string]manifest.File // what was not met yet
	dirs map[string]bool
}

// meet says what mode a file of this kind has to have, which is no link or the like.
func (s *sealing) meet(name string, regular bool, size int64) (fs.FileMode, error) {
	f, ok := s.rest[name]
	if !ok || !regular || size != f.Size {
		return 0, fmt.Errorf("the staged file %s is not what the manifest says", name)
	}
	delete(s.rest, name)
	return modeOf(f), nil
}

func inventory(m manifest.Manifest) map[string]manifest.File {
	placed := m.Placed()
	files := make(map[string]manifest.File, len(placed))
	for _, f := range placed {
		files[f.Path] = f
	}
	return files
}

// below is a path as manifests have it.
func below(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil { // the walk makes all paths from dir
		panic(err)
	}
	return filepath.ToSlash(rel)
}
