package configured

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/mounts"
	"hermes.example/hermes/sandbox"
)

// Obtain returns a task's sandbox. With a spec it is made to fit; without one it is taken as it is, and made by the
// defaults when there is none. What the configuration mounts is the configuration's to decide: it is added to either.
func (s *Sandboxes) Obtain(ctx context.Context, task string, spec *sandbox.Spec) (*sandbox.Sandbox, error) {
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	// An identity's home is compared by its real path, which it has once it exists.
	if err := os.MkdirAll(s.Home(), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the home: %w", err)
	}
	wanted, err := s.wanted(ctx, c)
	if err != nil {
		return nil, err
	}
	m, id := s.manager, s.Identity(task)
	id.Instance = s.instance
	if spec != nil {
		s.Release(task) // our own hold must not keep it from being made anew
	}
	if spec == nil {
		box, err := m.Attach(ctx, id)
		if err == nil {
			return s.refresh(ctx, box, wanted)
		}
		if !errors.Is(err, sandbox.ErrNotFound) && !errors.Is(err, sandbox.ErrGone) {
			return nil, err
		}
		spec = &sandbox.Spec{Ephemeral: !keepsFiles(m, c)}
		// One that has stopped comes back as it was, unless it had variables,
		// whose values nobody kept but the configuration.
		if info, err := m.Find(ctx, id); err == nil && (len(info.Spec.Env) == 0 || wanted.container != nil) {
			spec = &info.Spec
		} else if kept, err := m.Remembered(ctx, id); err == nil {
			kept.Env = nil
			spec = &kept
		}
	}
	whole := s.join(*spec, wanted)
	if whole.Ephemeral && !whole.Keep {
		if err := checkEphemeral(ctx, m, id); err != nil {
			return nil, err
		}
	}
	return m.Ensure(ctx, id, whole)
}

// Attach returns a task's sandbox as it is, for those who only look into it. One that does not run is started.
func (s *Sandboxes) Attach(ctx context.Context, task string) (*sandbox.Sandbox, error) {
	box, err := s.manager.Attach(ctx, s.Identity(task))
	if errors.Is(err, sandbox.ErrNotFound) || errors.Is(err, sandbox.ErrGone) {
		return s.Obtain(ctx, task, nil)
	}
	return box, err
}

// configuration is what the configuration has to say about a sandbox.
type configuration struct {
	host      *mounts.Host // nil where nothing is mounted
	mounts    []sandbox.Mount
	container *container // nil where sandboxes are none
}

// wanted reads what is configured about sandboxes, and says what of it cannot be.
func (s *Sandboxes) wanted(ctx context.Context, c config.Config) (set configuration, err error) {
	if set.container, err = s.container(c); err != nil || !s.manager.Capabilities().Mounts {
		return set, err
	}
	host, err := mounts.New(c, s.options.Lookup)
	if err != nil {
		return set, err
	}
	set.host = host
	found, err := host.Configured(ctx, set.container != nil)
	for _, warning := range found.Warnings {
		s.options.Say(warning)
	}
	if err == nil {
		set.mounts, err = set.container.mounts(host, found)
	}
	return set, err
}

// join is a spec with what is configured now in place of what was configured when
// it was made.
func (s *Sandboxes) join(spec sandbox.Spec, configured configuration) sandbox.Spec {
	spec = configured.container.complete(spec)
	given := mounts.Given(spec.Mounts)
	var bounds, warnings []string
	if configured.host != nil {
		// Those of a sandbox that was made before the bound was set are held to it too.
		given, bounds = configured.host.Bounded(given)
	}
	spec.Mounts, warnings = mounts.Join(given, configured.mounts)
	for _, warning := range append(bounds, warnings...) {
		s.options.Say(warning)
	}
	// Whoever mounts his directory as the workspace means to be in it, wherever an
	// image would begin.
	if spec.Cwd == "" && slices.ContainsFunc(spec.Mounts, func(m sandbox.Mount) bool { return path.Clean(m.Target) == sandbox.Workspace }) {
		spec.Cwd = sandbox.Workspace
	}
	if spec.Cwd == "" && configured.container != nil {
		spec.Cwd = config.DefaultContainerCwd
	}
	return spec
}

// refresh sees to it that a running sandbox is as the configuration says now. One that
// is in use and lacks a file of its profile, or has one too many, serves all the same;
// with another volume, or another directory as its workspace, a command could do harm,
// and it is refused like any other difference.
func (s *Sandboxes) refresh(ctx context.Context, box *sandbox.Sandbox, configured configuration) (*sandbox.Sandbox, error) {
	have, id := box.Spec(), box.Identity()
	want := s.join(have, configured)
	switch {
	case configured.container != nil && want.Hash() == box.SpecHash():
		return box, nil
	// The values of its variables only its maker knows, who can make it anew.
	case configured.container == nil && (want.Hash() == have.Hash() || len(have.Env) > 0):
		return box, nil
	}
	// Our own hold must not keep it in use.
	if err := box.Close(); err != nil {
		return nil, err
	}
	made, err := s.manager.Ensure(ctx, id, want)
	var drift *sandbox.DriftError
	if !errors.As(err, &drift) || !differsByProfile(have, want.Public()) {
		return made, err
	}
	s.options.Say(fmt.Sprintf("cannot give the sandbox %q what is configured now while it is in use (%s): it is made anew when nobody uses it", id.Task, strings.Join(drift.Difference, "; ")))
	return s.manager.Attach(ctx, id)
}

// differsByProfile says whether files of the profile are the only difference. Where
// there is none to be seen, it is the value of a variable.
func differsByProfile(a, b sandbox.Spec) bool {
	return a.Hash() != b.Hash() && withoutProfile(a).Hash() == withoutProfile(b).Hash()
}

func withoutProfile(s sandbox.Spec) sandbox.Spec {
	s.Mounts = slices.DeleteFunc(slices.Clone(s.Mounts), func(m sandbox.Mount) bool { return m.Origin == sandbox.ByProfile })
	return s
}

// checkEphemeral refuses a task that keeps files: an ephemeral sandbox has none,
// and takes those of its task along when it ends.
func checkEphemeral(ctx context.Context, m *sandbox.Manager, id sandbox.Identity) error {
	if info, err := m.Find(ctx, id); err == nil && info.Spec.Ephemeral {
		return nil
	}
	kept, err := m.Keeps(ctx, id)
	if err == nil && kept {
		err = fmt.Errorf("the task %q keeps files, and an ephemeral sandbox would not: choose another task, or keep them with --ephemeral=false", id.Task)
	}
	return err
}
