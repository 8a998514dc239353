package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
)

const (
	probeTimeout     = 15 * time.Second
	ensurepipTimeout = 120 * time.Second
)

// pip is how pip is started: an interpreter and its first arguments.
type pip []string

// findPip is the interpreter's own pip, or else the one that Python carries for such cases, unpacked into the session's
// directory: the core must not change.
func (s *session) findPip(ctx context.Context) (pip, error) {
	// Isolated from the caller's Python settings, and without leaving compiled files in the core.
	own := pip{s.Runtime.Python(), "-I", "-B", "-m", "pip"}
	err := s.runPip(ctx, own, probeTimeout, nil, "--version")
	if err == nil || ctx.Err() != nil {
		return own, ctx.Err()
	}
	if errors.Is(err, errVanished) {
		return nil, lastRung(err)
	}
	root := s.path("ensurepip")
	err = s.runPip(ctx, pip{s.Runtime.Python(), "-I", "-B", "-m", "ensurepip"}, ensurepipTimeout, nil, "--root", root)
	if err == nil {
		if found := findMain(root); found != "" {
			return pip{s.Runtime.Python(), "-I", "-B", found}, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, unavailable.NoPip(cmp.Or(err, errors.New("it left no pip")))
}

// findMain is pip's directory, which an interpreter can run, somewhere below root.
func findMain(root string) (found string) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what cannot be read is not it
		if err == nil && e.Name() == "__main__.py" && filepath.Base(filepath.Dir(path)) == "pip" {
			found = filepath.Dir(path)
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// installByPip downloads first and installs from what it has then, so that the wheels are kept.
func (s *session) installByPip(ctx context.Context, p pip, packages []lock.Package, into string, wheels bool) error {
	list := []string{"--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", s.path("requirements.txt")}
	if !wheels {
		if s.Offline {
			return failed("switch the network on", "cannot install without the network, which is switched off: not all wheels are kept in %s", s.wheels())
		}
		var collected lineCounter
		collected.prefix = []byte("Collecting ")
		stop := s.observe(packages, into, collected.count)
		err := s.runPip(ctx, p, s.timeout(), &collected, append([]string{"download", "--dest", s.wheels()}, list...)...)
		stop()
		if err != nil {
			return s.judge("pip download", err)
		}
	}
	stop := s.observe(packages, into, func() int { return len(packages) })
	defer stop()
	args := append([]string{"install", "--target", into, "--no-compile", "--no-index", "--find-links", s.wheels()}, list...)
	return s.judge("pip install", s.runPip(ctx, p, s.timeout(), nil, args...))
}

func (s *session) runPip(ctx context.Context, p pip, timeout time.Duration, watch *lineCounter, args ...string) error {
	env, err := s.forPip(s.dir)
	if err != nil {
		return err
	}
	c := command{program: p[0], args: slices.Concat(p[1:], args), env: env, timeout: timeout}
	if watch != nil {
		c.watch = watch
	}
	return s.run(ctx, c)
}

// lineCounter counts the lines that begin in a certain way. What it is given are whole writes of lines, or the count is
// a little low.
type lineCounter struct {
	prefix []byte
	n      atomic.Int64
}

func (l *lineCounter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if bytes.HasPrefix(line, l.prefix) {
			l.n.Add(1)
		}
	}
	return len(p), nil
}

func (l *lineCounter) count() int { return int(l.n.Load()) }
