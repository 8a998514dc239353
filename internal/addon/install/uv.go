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

// installByUV installs wheels.
func (s *session) installByUV(ctx context.Context, uv string, packages []lock.Package, into string, wheels bool) error {
	env, index, err := s.forUV(s.dir)
	if err != nil {
		return err
	}
	archives := func() int { return entries(filepath.Join(s.uvCache(), "archive-v0"), "") }
	before := archives()
	stop := s.observe(packages, into, func() int { return archives() - before })
	defer stop()
	return s.uvInstall(ctx, uvInstall{uv: uv, env: env, index: index, kept: wheels, list: "requirements.txt",
		options: []string{"--python", s.Runtime.Python(), "--target", into}, emptied: into})
}

// uvInstall is one installation by uv, of exact versions with their hashes.
type uvInstall struct {
	uv      string
	env     environment
	index   bool     // whether one may be asked
	kept    bool     // whether the wheels of all packages are
	list    string   // the session's file of requirements
	options []string // for which interpreter, where to, and what may be built
	emptied string   // the directory in which a first attempt may have left something; may be ""
}

// uvInstall tries without the network first: what was installed once needs none again, and an index that is slow or
// gone must not matter then.
func (s *session) uvInstall(ctx context.Context, j uvInstall) error {
	// Exact versions with hashes: which index a file comes from does not matter.
	j.env.unless("UV_INDEX_STRATEGY", "unsafe-best-match")
	var online []string
	if !j.index {
		online = []string{"--no-index"}
	}
	if _, err := os.Stat(s.uvCache()); s.Offline || j.kept || err == nil {
		kept, offline := j.env, append(slices.Clip(online), "--offline")
		if j.kept {
			kept, offline = j.env.without(uvIndexes...), []string{"--offline", "--no-index", "--find-links", s.wheels()}
		}
		err := s.runUV(ctx, j, kept, offline)
		var exit *exited
		if s.Offline || !errors.As(err, &exit) {
			return s.judge("uv pip install", err)
		}
		if j.emptied != "" {
			if err := removeContents(j.emptied); err != nil {
				return unavailable.NotWritable(j.emptied, err)
			}
		}
	}
	return s.judge("uv pip install", s.runUV(ctx, j, j.env, online))
}

func (s *session) runUV(ctx context.Context, j uvInstall, env environment, from []string) error {
	args := slices.Concat(
		[]string{"pip", "install", "--no-config", "--color", "never"}, j.options,
		[]string{"--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "hardlink"},
		from,
		[]string{"--requirements", s.path(j.list)})
	return s.run(ctx, command{program: j.uv, args: args, env: env, timeout: s.timeout()})
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
