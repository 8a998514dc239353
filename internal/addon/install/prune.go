package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/unavailable"
)

// Prune takes out of the cache what none of these packages needs, and says how many bytes that were. What is kept can
// still be installed without a network. Only versions count: who has another interpreter keeps its wheels of them.
func (i Installer) Prune(ctx context.Context, keep []lock.Package, nodes []npm.Spec) (freed int64, err error) {
	before := size(i.Cache)
	if before == 0 {
		return 0, nil
	}
	s, err := i.open()
	if err != nil {
		return 0, err
	}
	defer s.close()
	k := keeper{}
	for _, p := range keep {
		k[p.Name] = append(k[p.Name], p.Version)
	}
	// pip's own cache is of answers and of what it built; the wheels that it installs from are kept beside it.
	err = errors.Join(os.RemoveAll(filepath.Join(s.Cache, "pip")), s.pruneWheels(k), s.pruneVersions(k))
	if err != nil {
		return 0, unavailable.NotWritable(s.Cache, err)
	}
	if err := s.pruneUV(ctx, k); err != nil {
		return 0, err
	}
	if err := s.pruneNPM(ctx, nodes); err != nil {
		return 0, err
	}
	return max(0, before-size(i.Cache)), nil
}

// keeper has the versions of each package that stay.
type keeper map[string][]string

func (k keeper) has(name, version string) bool {
	v, err := pep508.ParseVersion(version)
	return slices.ContainsFunc(k[name], func(other string) bool {
		w, err2 := pep508.ParseVersion(other)
		return other == version || err == nil && err2 == nil && v.Compare(w) == 0
	})
}

// pruneWheels removes wheels that were kept for pip.
func (s *session) pruneWheels(k keeper) error {
	files, err := os.ReadDir(s.wheels())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		name, rest, _ := strings.Cut(file.Name(), "-")
		version, _, _ := strings.Cut(rest, "-")
		if !k.has(pep508.Normalize(name), version) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.wheels(), file.Name())))
		}
	}
	return err
}

// Where uv keeps what it knows of a package: a directory of wheels, with names that begin with a version, or of sources,
// with one for each version; and what an index says of it. A uv that keeps things elsewhere keeps all of them.
var (
	uvWheels  = []string{"wheels-v*/pypi/*", "wheels-v*/index/*/*"}
	uvSources = []string{"sdists-v*/pypi/*", "sdists-v*/index/*/*"}
	uvIndexed = []string{"simple-v*/pypi/*.rkyv", "simple-v*/index/*/*.rkyv"}
)

func (s *session) inUV(patterns ...string) (found []string) {
	for _, pattern := range patterns {
		some, _ := fs.Glob(os.DirFS(s.uvCache()), pattern) // the patterns are good ones
		for _, path := range some {
			found = append(found, filepath.Join(s.uvCache(), path))
		}
	}
	return found
}

// pruneVersions removes other versions of packages that stay, which uv has no command for.
func (s *session) pruneVersions(k keeper) error {
	var err error
	for _, dir := range s.inUV(slices.Concat(uvWheels, uvSources)...) {
		name := filepath.Base(dir)
		entries, readErr := os.ReadDir(dir)
		err = errors.Join(err, readErr)
		for _, e := range entries {
			version, _, _ := strings.Cut(e.Name(), "-")
			if k[name] != nil && !k.has(name, version) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
		}
	}
	return err
}

// pruneUV has uv remove packages that are not kept, and then what nothing leads to any more.
func (s *session) pruneUV(ctx context.Context, k keeper) error {
	if _, err := os.Stat(s.uvCache()); err != nil {
		return nil
	}
	var goes []string
	for _, path := range s.inUV(slices.Concat(uvWheels, uvSources, uvIndexed)...) {
		name := strings.TrimSuffix(filepath.Base(path), ".rkyv")
		if k[name] == nil && pep508.Normalize(name) == name {
			goes = append(goes, name)
		}
	}
	slices.Sort(goes)
	commands := [][]string{{"cache", "prune"}}
	if goes = slices.Compact(goes); len(goes) > 0 {
		commands = [][]string{append([]string{"cache", "clean", "--"}, goes...), {"cache", "prune"}}
	}
	for _, uv := range s.uvs() {
		err := s.tidyUV(ctx, uv, commands)
		if !errors.Is(err, errVanished) {
			return s.judge("uv cache", err)
		}
	}
	return nil
}

func (s *session) tidyUV(ctx context.Context, uv string, commands [][]string) error {
	env, _, err := s.forUV(s.dir)
	for _, args := range commands {
		if err == nil {
			err = s.run(ctx, command{program: uv, args: append([]string{"--no-config", "--color", "never", "--offline"}, args...), env: env, timeout: s.timeout()})
		}
	}
	return err
}

// size is how much room the files of a tree take that nobody else has: those that uv installed are generations', too.
func size(root string) (sum int64) {
	_ = filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error { // what cannot be read does not count
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && names(info) == 1 {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
