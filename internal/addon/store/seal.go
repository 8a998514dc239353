package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	for _, e := range top {
		if e.Name() != sitePackages {
			return fmt.Errorf("%s was staged beside site-packages", e.Name())
		}
	}
	site := staged.SitePackages()
	rest, dirs := inventory(m), m.Dirs()
	var empty []string
	err = filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := below(site, path)
		if d.IsDir() {
			if name != "." && !dirs[name] {
				empty = append(empty, path)
			}
			return nil
		}
		f, ok := rest[name]
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !ok || !d.Type().IsRegular() || info.Size() != f.Size {
			return fmt.Errorf("the staged file %s is not what the manifest says", name)
		}
		delete(rest, name)
		return chmod(path, info, modeOf(f))
	})
	if err != nil {
		return err
	}
	for name := range rest {
		return fmt.Errorf("the file %s of the manifest is not staged", name)
	}
	for _, dir := range slices.Backward(empty) { // what is in one came after it
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	// Directories last: nothing can be removed from one that is closed.
	for name := range dirs {
		if err := os.Chmod(filepath.Join(site, name), dirMode); err != nil {
			return err
		}
	}
	return os.Chmod(site, dirMode)
}

// chmod leaves a file alone that is as it should be: it may be one of an older generation, too.
func chmod(path string, info fs.FileInfo, mode fs.FileMode) error {
	if info.Mode() == mode {
		return nil
	}
	return os.Chmod(path, mode)
}

func inventory(m manifest.Manifest) map[string]manifest.File {
	files := make(map[string]manifest.File, len(m.Files))
	for _, f := range m.Files {
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
