package install

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/unavailable"
)

// pylock is as much of a lock file of Python's standard (PEP 751) as is needed. uv lists in it only those files that fit
// the platform.
type pylock struct {
	Packages []struct {
		Name    string
		Version string
		Wheels  []pylockFile
		Sdist   pylockFile
	}
}

type pylockFile struct {
	URL    string
	Size   int64
	Hashes map[string]string
}

func (s *session) uvResolver(uv string) resolver {
	return func(ctx context.Context, w Wish, before time.Time) ([]lock.Package, error) {
		env, index, err := s.forUV(s.dir)
		if err != nil {
			return nil, err
		}
		if err := w.write(s); err != nil {
			return nil, err
		}
		out := s.path("pylock.toml")
		args := []string{"pip", "compile", "--no-config", "--color", "never", "--python", s.Runtime.Python(), "--only-binary", ":all:",
			"--format", "pylock.toml", "--no-header", "--output-file", out}
		for _, name := range w.Sources {
			args = append(args, "--no-binary", name)
		}
		if len(w.Core) > 0 {
			args = append(args, "--constraints", s.path("core.txt"))
		}
		if !before.IsZero() {
			args = append(args, "--exclude-newer", before.UTC().Format(time.RFC3339))
		}
		if w.Platform != "" {
			args = append(args, "--python-platform", w.Platform)
		}
		if !index {
			args = append(args, "--no-index")
		}
		if s.Offline {
			args = append(args, "--offline")
		}
		if err := os.RemoveAll(out); err != nil { // uv would prefer the versions of one that is there
			return nil, unavailable.NotWritable(s.Cache, err)
		}
		if err := s.run(ctx, command{program: uv, args: append(args, s.path("wish.in")), env: env, timeout: s.timeout()}); err != nil {
			return nil, err
		}
		var found pylock
		if _, err := toml.DecodeFile(out, &found); err != nil {
			return nil, failed("", "cannot understand what uv resolved: %v", err)
		}
		return s.packages(ctx, found, w.Sources)
	}
}

func (s *session) packages(ctx context.Context, p pylock, sources []string) ([]lock.Package, error) {
	var all []lock.Package
	for _, f := range p.Packages {
		q := lock.Package{Name: pep508.Normalize(f.Name), Version: f.Version}
		files := f.Wheels
		if q.Source = slices.Contains(sources, q.Name); q.Source {
			files = []pylockFile{f.Sdist}
		}
		for _, file := range files {
			if hash := file.Hashes["sha256"]; hash != "" {
				q.Hashes = append(q.Hashes, "sha256:"+hash)
				if file.Size == 0 && s.Measure != nil {
					file.Size = s.Measure(ctx, file.URL)
				}
				q.Size = max(q.Size, file.Size)
			}
		}
		if len(q.Hashes) == 0 {
			return nil, failed("", "cannot lock %s: there is no file of it that fits and has a hash", q)
		}
		slices.Sort(q.Hashes)
		all = append(all, q)
	}
	return all, nil
}
