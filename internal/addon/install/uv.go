package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
)

// installByUV tries without the network first: what was installed once needs none again, and an index that is slow or
// gone must not matter then.
func (s *session) installByUV(ctx context.Context, uv string, packages []lock.Package, into string, wheels bool) error {
	env, index, err := s.forUV(s.dir)
	if err != nil {
		return err
	}
	// Exact versions with hashes: which index a file comes from does not matter.
	env.unless("UV_INDEX_STRATEGY", "unsafe-best-match")
	var online []string
	if !index {
		online = []string{"--no-index"}
	}
	if _, err := os.Stat(s.uvCache()); s.Offline || wheels || err == nil {
		kept, offline := env, append(slices.Clip(online), "--offline")
		if wheels {
			kept, offline = env.without(uvIndexes...), []string{"--offline", "--no-index", "--find-links", s.wheels()}
		}
		err := s.uvInstall(ctx, uv, packages, into, kept, offline)
		var exit *exited
		if s.Offline || !errors.As(err, &exit) {
			return s.judge("uv pip install", err)
		}
		if err := removeContents(into); err != nil {
			return unavailable.NotWritable(into, err)
		}
	}
	return s.judge("uv pip install", s.uvInstall(ctx, uv, packages, into, env, online))
}

func (s *session) uvInstall(ctx context.Context, uv string, packages []lock.Package, into string, env environment, from []string) error {
	args := slices.Concat(
		[]string{"pip", "install", "--no-config", "--color", "never", "--python", s.Runtime.Python(), "--target", into},
		[]string{"--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "hardlink"},
		from,
		[]string{"--requirements", s.path("requirements.txt")})
	archives := func() int { return entries(filepath.Join(s.uvCache(), "archive-v0"), "") }
	before := archives()
	stop := s.observe(packages, into, func() int { return archives() - before })
	defer stop()
	return s.run(ctx, command{program: uv, args: args, env: env, timeout: s.timeout()})
}

// judge makes of the end of a tool what the caller is told.
func (s *session) judge(tool string, err error) error {
	var exit *exited
	switch {
	case errors.As(err, &exit) && s.Offline:
		return failed("switch the network on", "%s failed without the network, which is switched off: %s", tool, exit.words())
	case errors.As(err, &exit):
		return unavailable.InstallerFailed(exit.stderr, exit.stdout, fmt.Errorf("%s: %w", tool, err))
	case errors.Is(err, errTimedOut):
		return failed("if the package index is slow from here, set UV_DEFAULT_INDEX or PIP_INDEX_URL to a mirror that is not",
			"%s did not end within %s and was ended", tool, s.timeout())
	}
	return err
}

func (e environment) without(names ...string) environment {
	rest := maps.Clone(e)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}
