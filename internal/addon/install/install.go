// Package install has packages fetched and unpacked by the tools that their world trusts with it: uv, or pip where
// uv is not there, and npm. It decides what they are told, what they see of the caller's environment, where they may write and
// how long they may take; it neither speaks to an index nor reads a wheel itself.
//
// The add-on manager calls it with a lock's packages and an empty directory, and holds the store's writers' lock
// meanwhile: an Installer has its cache to itself. It never writes to the interpreter that it installs for.
package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/unavailable"
)

// DefaultTimeout is how long one installer may take.
const DefaultTimeout = 300 * time.Second

// Installer installs for one runtime.
type Installer struct {
	Runtime *sealed.Runtime
	// Cache is a directory of its own, kept from one run to the next: what is in it can be installed again without a
	// network.
	Cache string
	// Environ is the caller's environment. Little of it reaches the tools.
	Environ []string
	// FilesRoot is where the host's /etc is looked for, "" being the host itself.
	FilesRoot string
	Timeout   time.Duration // 0: DefaultTimeout
	// MinAge is how old a release has to be for Resolve to choose it; 0: DefaultMinAge, below: any age.
	MinAge time.Duration
	// Offline forbids the network.
	Offline bool
	// Fresh forgets what was kept before it installs. The tools do not look again at what they have unpacked once, and a
	// crash of the machine may have left files in the cache that were never written.
	Fresh bool
	// Tools are what packages without a wheel are built with. Without them no package is built, and none of its code runs.
	Tools []lock.Package
	// Measure, where it is set, is asked for the size of a file of which an index does not say it. Only who makes locks
	// to be shipped has the time.
	Measure  func(ctx context.Context, url string) int64
	Progress func(Event)  // may be nil
	Log      *slog.Logger // may be nil
	Now      func() time.Time
}

// failed is an error whose reason is not what an installer said.
func failed(next, format string, args ...any) error {
	return unavailable.Because(unavailable.Failed, fmt.Errorf(format, args...), next)
}

// Install puts exactly these packages into the directory, which is empty or does not exist. Their files are checked
// against the hashes, and only wheels are taken, so that nothing of a package runs, except for those that have none. Every error but the context's is an
// *unavailable.Error, without the feature, which the caller knows.
func (i Installer) Install(ctx context.Context, packages []lock.Package, into string) error {
	if len(packages) == 0 {
		return nil
	}
	if err := emptyDirectory(into); err != nil {
		return err
	}
	for _, p := range packages {
		if len(p.Hashes) == 0 {
			return failed(`run "make lock"`, "cannot install %s: its lock has no hash", p.Name)
		}
	}
	wheels, sources := lock.Apart(packages)
	if len(sources) > 0 && len(i.Tools) == 0 {
		return failed("", "cannot build %s from source: there are no locked tools to build it with", sources[0])
	}
	s, err := i.open()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.forget(s.uvCache(), s.wheels()); err != nil {
		return err
	}
	if err := s.write("requirements.txt", lock.Requirements(wheels)); err != nil {
		return err
	}
	if len(wheels) > 0 {
		err = s.install(ctx, wheels, into)
	}
	if err == nil && len(sources) > 0 {
		err = s.build(ctx, sources, into)
	}
	if err != nil {
		if left := removeContents(into); left != nil {
			s.Log.Warn("cannot remove what a failed installation left", "dir", into, "error", left)
		}
		return err
	}
	// uv leaves the file by which it locks a directory, which is no package's.
	if err := os.Remove(filepath.Join(into, ".lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return unavailable.NotWritable(into, err)
	}
	return nil
}

// install goes down the ladder. Only a tool that is not there makes room for the next: what one of them could not
// install the other could not either, and would take as long to find out.
func (s *session) install(ctx context.Context, packages []lock.Package, into string) error {
	complete, err := s.haveWheels(packages)
	if err != nil {
		return err
	}
	for _, uv := range s.uvs() {
		err := s.installByUV(ctx, uv, packages, into, complete)
		if !errors.Is(err, errVanished) {
			return err
		}
	}
	pip, err := s.findPip(ctx)
	if err != nil {
		return err
	}
	return lastRung(s.installByPip(ctx, pip, packages, into, complete))
}

// lastRung is for what vanishes when there is nothing else left to try.
func lastRung(err error) error {
	if errors.Is(err, errVanished) {
		return failed("build the runtime again", "cannot start the runtime's interpreter: %w", err)
	}
	return err
}

// emptyDirectory makes sure that an installer has nothing to merge with: pip leaves directories that exist as they are
// and calls that a success.
func emptyDirectory(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.Mkdir(dir, 0o755); err != nil {
			return unavailable.NotWritable(dir, err)
		}
	case err != nil:
		return unavailable.NotWritable(dir, err)
	case len(entries) > 0:
		return failed("", "cannot install into %s: it is not empty", dir)
	}
	return nil
}

// removeContents takes away what an attempt left.
func removeContents(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (i Installer) timeout() time.Duration {
	if i.Timeout > 0 {
		return i.Timeout
	}
	return DefaultTimeout
}

// uvs are the copies of uv that there are: the runtime's own, and the one on the caller's PATH.
func (i Installer) uvs() []string {
	var all []string
	if own := i.Runtime.UV(); own != "" {
		all = append(all, own)
	}
	if found := i.onPath("uv"); found != "" {
		all = append(all, found)
	}
	return all
}

// onPath is a program on the caller's PATH, or "".
func (i Installer) onPath(name string) string { return npm.Program(i.getenv("PATH"), name) }
