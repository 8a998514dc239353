package cli

import (
	"fmt"
	"os"
	"slices"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

// container is how the configuration completes what somebody says of a sandbox that
// is a container. A nil one changes nothing.
type container struct {
	settings config.Container
	user     string // whom commands run as; empty leaves it to the image
}

// container reads what is configured about containers, if that is what the engine
// makes, and says what of it has no meaning.
func (a *app) container(m *sandbox.Manager, c config.Config) (*container, error) {
	if !m.Capabilities().Containers {
		return nil, nil
	}
	settings, err := c.Container()
	if err != nil {
		return nil, err
	}
	user, warning := hostUser(settings.RunAsHostUser, os.Getuid(), os.Getgid())
	for _, line := range append(settings.Ignored, warning...) {
		a.say("%s", line)
	}
	return &container{settings, user}, nil
}

// hostUser is the caller, for commands that shall run as him.
func hostUser(wanted bool, uid, gid int) (user string, warning []string) {
	switch {
	case !wanted:
		return "", nil
	case uid < 0 || gid < 0:
		return "", []string{"cannot use terminal.docker_run_as_host_user: users have no numbers on this system; commands run as the image's user"}
	}
	return fmt.Sprintf("%d:%d", uid, gid), nil
}

// complete fills in what is configured, but for what whoever made the sandbox chose
// himself. No other place turns settings about containers into a spec.
func (k *container) complete(s sandbox.Spec) sandbox.Spec {
	if k == nil {
		return s
	}
	open := func(part string) bool { return !slices.Contains(s.Chosen, part) }
	if open("image") {
		s.Image = k.settings.Image
	}
	if open("user") {
		s.User = k.user
	}
	if open("network") {
		s.Network = sandbox.NetworkNone
		if k.settings.Network {
			s.Network = sandbox.NetworkBridge
		}
	}
	if open("cpus") {
		s.Limits.CPUs = k.settings.CPUs
	}
	if open("memory") {
		s.Limits.Memory = orNone(k.settings.Memory)
	}
	if open("pids") {
		s.Limits.Pids = config.ContainerPids
	}
	s.Limits.Disk, s.Limits.SharedMemory = orNone(k.settings.Disk), orNone(k.settings.SharedMemory)
	s.Cwd = k.settings.Cwd
	s.Env = nil
	if len(k.settings.Env) > 0 {
		s.Env = make(map[string]string, len(k.settings.Env))
		for name, value := range k.settings.Env {
			s.Env[name] = value.Reveal()
		}
	}
	return s
}

// orNone is a limit of a spec, where zero means the default.
func orNone(limit int64) int64 {
	if limit == 0 {
		return -1
	}
	return limit
}

// choose notes what the flags say about a container.
func (s *specOptions) choose(spec *sandbox.Spec) {
	for _, part := range []string{"image", "user", "network", "cpus", "memory", "pids"} {
		if s.said(part) {
			spec.Chosen = append(spec.Chosen, part)
		}
	}
	spec.Image = s.image // as its engine calls it
}

// forwarded are the variables of the caller that commands in containers get. They
// are read for each command: none of them is part of a sandbox.
func (a *app) forwarded(m *sandbox.Manager, c config.Config) (forward.Values, error) {
	if !m.Capabilities().Containers {
		return nil, nil
	}
	settings, err := c.Container()
	if err != nil {
		return nil, err
	}
	values, warnings := forward.Read(c, settings, a.lookup)
	for _, warning := range warnings {
		a.say("%s", warning)
	}
	return values, nil
}

// shared is the identity that all profiles have in common under a key. Its profile
// can be nobody's name: those have no colon.
func shared(c config.Config, task string) sandbox.Identity {
	return sandbox.Identity{Home: c.RootHome(), Profile: "shared:" + c.SharedKey, Task: task}
}
