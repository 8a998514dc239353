package install

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/unavailable"
)

// InstallTree has npm put exactly the packages of a tree into a node_modules that does not exist yet. Their integrity is
// checked, none of their scripts runs, and no links to their programs are made. Every error but the context's is an
// *unavailable.Error, without the feature, which the caller knows.
func (i Installer) InstallTree(ctx context.Context, t lock.Tree, specs []string, into string) error {
	program, err := i.npm()
	if err != nil {
		return err
	}
	wanted, locked, err := forNPM(t, specs)
	if err != nil {
		return failed(`run "make lock"`, "cannot install %s: %w", t.Feature, err)
	}
	s, err := i.open()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.forget(s.npmCache()); err != nil {
		return err
	}
	if err := errors.Join(s.write("package.json", wanted), s.write("package-lock.json", locked)); err != nil {
		return err
	}
	fetched := s.path("node_modules")
	stop := s.watch(func() Event {
		return Event{Phase: Downloading, Done: min(entries(fetched, ""), len(t.Packages)), Total: len(t.Packages), Size: t.Bytes()}
	})
	err = s.cleanInstall(ctx, program, t)
	stop()
	if err != nil {
		return s.judgeNPM("npm ci", err)
	}
	// What npm notes of what it has done is no part of a package.
	if err := os.Remove(filepath.Join(fetched, ".package-lock.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return unavailable.NotWritable(s.Cache, err)
	}
	if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
		return unavailable.NotWritable(into, err)
	}
	if err := os.Rename(fetched, into); err != nil {
		return unavailable.NotWritable(into, err)
	}
	return nil
}

// cleanInstall tries without the network first: what was installed once needs none again, and a registry that is slow or
// gone must not matter then. If it is asked, it is asked whether it knows more of a package than npm remembers: a release
// may be younger than the memory.
func (s *session) cleanInstall(ctx context.Context, program string, t lock.Tree) error {
	args := []string{"ci", "--ignore-scripts", "--bin-links=false", "--omit=dev", "--engine-strict", "--install-links=false"}
	if s.Offline || s.mayHave(t) {
		err := s.runNPM(ctx, program, nil, append(args, "--offline")...)
		var exit *exited
		if s.Offline || !errors.As(err, &exit) {
			return err
		}
	}
	return s.runNPM(ctx, program, nil, append(args, "--prefer-online")...)
}

// mayHave is false if npm cannot have kept all archives of a tree: it would find that out when it has unpacked the rest.
func (s *session) mayHave(t lock.Tree) bool {
	if _, err := os.Stat(s.npmCache()); err != nil {
		return false
	}
	kept := filepath.Join(s.npmCache(), "_cacache", "content-v2", "sha512")
	if _, err := os.Stat(kept); err != nil {
		return true // an npm that keeps them elsewhere is asked
	}
	for _, n := range t.Packages {
		sum, err := npm.Hash(n.Integrity)
		name := hex.EncodeToString(sum)
		if err != nil || n.Optional {
			continue
		}
		if _, err := os.Stat(filepath.Join(kept, name[:2], name[2:4], name[4:])); err != nil {
			return false
		}
	}
	return true
}

// npm is the one on the caller's PATH, beside a node: it is a script of that.
func (i Installer) npm() (string, error) {
	program := i.onPath("npm")
	if program == "" || i.onPath("node") == "" {
		return "", unavailable.NoNode()
	}
	return program, nil
}

// HasNode says whether features of npm can be installed at all.
func (i Installer) HasNode() bool {
	_, err := i.npm()
	return err == nil
}

// runNPM runs npm in the session's directory. The watcher is given what it says; it may be nil.
func (s *session) runNPM(ctx context.Context, program string, watch io.Writer, args ...string) error {
	rc, err := s.npmSettings()
	if err != nil {
		return err
	}
	if err := s.write("npmrc", rc.text()); err != nil {
		return err
	}
	learn(&s.secrets, rc.environment())
	args = slices.Concat(args, []string{
		"--prefix", s.dir, "--cache", s.npmCache(), "--userconfig", s.path("npmrc"), "--globalconfig", s.path("none"),
		"--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--no-color", "--logs-max=0", "--loglevel=error", "--yes=false",
	})
	return s.run(ctx, command{program: program, args: args, env: s.forNPM(), timeout: s.timeout(), watch: watch})
}

// forNPM is npm's environment. Its own settings are in a file, where nobody sees them.
func (s *session) forNPM() environment {
	env := s.base(s.dir)
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY"} {
		if value := s.getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

func (i Installer) npmCache() string { return filepath.Join(i.Cache, "npm") }

// judgeNPM makes of the end of npm what the caller is told.
func (s *session) judgeNPM(what string, err error) error {
	var exit *exited
	switch {
	case errors.As(err, &exit) && s.Offline:
		return failed("switch the network on", "%s failed without the network, which is switched off: %s", what, errorsOf(exit))
	case errors.As(err, &exit):
		return unavailable.Because(unavailable.Failed, fmt.Errorf("%s failed: %s", what, errorsOf(exit)), "")
	case errors.Is(err, errTimedOut):
		return failed("if the registry is slow from here, set npm_config_registry to a mirror that is not",
			"%s did not end within %s and was ended", what, s.timeout())
	case errors.Is(err, errVanished):
		return unavailable.NoNode()
	}
	return err
}

// errorsOf is what npm said without the words that are on every line, and without what it says about its logs.
func errorsOf(e *exited) string {
	var said []string
	for line := range strings.Lines(e.words()) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "npm error"), "npm ERR!"))
		if line != "" && !strings.Contains(line, "og files were not written") && !strings.HasPrefix(line, "You can rerun the command") && !strings.HasPrefix(line, "A complete log") {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}
