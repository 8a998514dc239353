// Package mounts decides what of the host a sandbox sees: what the configuration
// mounts, and what anybody may mount at all.
//
// Whoever makes sandboxes for people calls it; the command line does. It makes
// nothing but the copies of skills, which prune takes away again. What is
// configured and cannot be mounted is left out with a line that says so, and never
// in silence. It must never let a sandbox write what Hermes believes.
package mounts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// base is where a sandbox finds the files of its profile.
const base = sandbox.Home + "/.hermes"

// Host is this machine as mounts see it.
type Host struct {
	config config.Config
	lookup config.Lookup
	run    string // where the sockets are
	// roots are the directories that sandboxes may write in; nil means all.
	roots []string
}

// New returns the host of a configuration.
func New(c config.Config, lookup config.Lookup) (*Host, error) {
	roots, err := c.WriteRoots()
	if err != nil {
		return nil, err
	}
	run, err := rundir.Find()
	return &Host{config: c, lookup: lookup, run: run, roots: roots}, err
}

// Configured is what the configuration mounts.
type Configured struct {
	// Mounts are, in this order, the caller's directory, volumes, and read-only the files of the profile.
	Mounts []sandbox.Mount
	// Volumes are those that an engine of containers keeps under a name.
	Volumes []sandbox.Volume
	// Warnings, of one line each, say what had to be left out.
	Warnings []string
}

// Configured reads what the configuration mounts, where the engine keeps volumes by
// name, or where it does not.
func (h *Host) Configured(ctx context.Context, named bool) (Configured, error) {
	settings, err := h.config.Mounts()
	if err != nil {
		return Configured{}, err
	}
	c := collection{host: h, named: named, warnings: settings.Ignored}
	c.volumes(settings)
	if !settings.SkipProfile {
		c.credentials(settings.CredentialFiles)
		c.skills(ctx, settings.SkillDirs)
		c.caches()
	}
	return Configured{c.list, c.byName, c.warnings}, nil
}

// collection grows by what can be mounted, and remembers what cannot.
type collection struct {
	host     *Host
	named    bool // a volume may be a name
	list     []sandbox.Mount
	byName   []sandbox.Volume
	warnings []string
}

func (c *collection) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// volumes adds what the configuration itself names.
func (c *collection) volumes(settings config.Mounts) {
	workspace := false
	var found []sandbox.Mount // with their sources as they were written
	var named []sandbox.Volume
	for _, text := range settings.Volumes {
		v, err := c.host.volume(text)
		if err == nil && v.name != "" && !c.named {
			err = fmt.Errorf("%q is the name of a volume of Docker's, which do not exist here (a directory is ./%s)", v.name, v.name)
		}
		if err != nil {
			c.warn("cannot use the volume %q: %v; the sandbox goes without it", text, err)
			continue
		}
		// Whoever wants something else there does not want the directory that
		// the caller happens to be in, not even if the other one is missing.
		workspace = workspace || path.Clean(v.Target) == sandbox.Workspace
		if v.name != "" {
			named = append(named, sandbox.Volume{Name: v.name, Target: v.Target, ReadOnly: v.ReadOnly, NoCopy: v.noCopy})
		} else {
			found = append(found, v.Mount)
		}
	}
	if settings.CwdToWorkspace && !workspace {
		dir, err := c.cwd(settings.Cwd)
		if err != nil {
			c.warn("cannot mount the caller's directory at %s: %v; the sandbox goes without it", sandbox.Workspace, err)
		} else {
			found = slices.Insert(found, 0, sandbox.Mount{Source: dir, Target: sandbox.Workspace, Origin: sandbox.ByConfig})
		}
	}
	for _, m := range found {
		written := m.Source
		m.Source = resolve(written)
		if err := leadsOut(written, m.Source, found); err != nil {
			c.warn("cannot mount %s at %s: %v; the sandbox goes without it", written, m.Target, err)
			continue
		}
		bounded, warnings := c.host.Bounded([]sandbox.Mount{m})
		c.warnings = append(c.warnings, warnings...)
		c.add(bounded[0])
	}
	for _, v := range named {
		c.addNamed(v)
	}
}

// cwd is the caller's directory.
func (c *collection) cwd(dir string) (string, error) {
	if in(dir, sandbox.Home) || in(dir, sandbox.Workspace) {
		return "", fmt.Errorf("the setting cwd, %s, names a directory of the sandbox", dir)
	}
	dir, err := config.ExpandHome(c.host.lookup, dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir) // of nothing, where we are
}

// in says whether a path of a sandbox is dir or below it.
func in(p, dir string) bool {
	p = path.Clean(p)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// add takes a mount if nothing speaks against it.
func (c *collection) add(m sandbox.Mount) {
	if err := c.check(m); err != nil {
		c.warn("cannot mount %s at %s: %v; the sandbox goes without it", m.Source, m.Target, err)
		return
	}
	c.list = append(c.list, m)
}

// addNamed takes a volume by its name if nothing speaks against it.
func (c *collection) addNamed(v sandbox.Volume) {
	err := (sandbox.Spec{Mounts: c.list, Container: &sandbox.Container{Volumes: append(slices.Clone(c.byName), v)}}).Validate()
	if err != nil {
		c.warn("cannot mount the volume %s at %s: %v; the sandbox goes without it", v.Name, v.Target, err)
		return
	}
	c.byName = append(c.byName, v)
}

func (c *collection) check(m sandbox.Mount) error {
	if err := (sandbox.Spec{Mounts: []sandbox.Mount{m}}).Validate(); err != nil {
		return err
	}
	if taken(c.list, m.Target) {
		return errors.New("something else is mounted there already")
	}
	if _, err := os.Stat(m.Source); err != nil {
		return reason(err)
	}
	return c.host.Allowed(m)
}

func taken(list []sandbox.Mount, target string) bool {
	return slices.ContainsFunc(list, func(m sandbox.Mount) bool { return path.Clean(m.Target) == path.Clean(target) })
}

// reason is an error without the path, which the line has already.
func reason(err error) error {
	var at *os.PathError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("it does not exist")
	case errors.As(err, &at):
		return at.Err
	}
	return err
}
