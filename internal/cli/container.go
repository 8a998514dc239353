package cli

import (
	"fmt"
	"os"
	"path"
	"slices"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/containerargs"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/internal/mounts"
	"hermes.example/hermes/sandbox"
)

// container is how the configuration completes what somebody says of a sandbox that
// is a container. A nil one changes nothing.
type container struct {
	settings config.Container
	extra    containerargs.Result // what docker_extra_args say beside
	user     string               // whom commands run as; empty leaves it to the image
	volumes  []sandbox.Volume     // of docker_volumes, by their names
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
	user, warnings := hostUser(settings.RunAsHostUser, os.Getuid(), os.Getgid())
	extra, more, err := containerargs.Parse(settings.ExtraArgs, a.lookup)
	if err == nil {
		err = extra.CheckNetwork(settings.Network)
	}
	for _, line := range slices.Concat(settings.Ignored, warnings, more) {
		a.say("%s", line)
	}
	return &container{settings: settings, extra: extra, user: user}, err
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
	configured := k.spec()
	open := func(part string) bool { return !slices.Contains(s.Chosen, part) }
	if open("image") {
		s.Image = configured.Image
	}
	if open("user") {
		s.User = configured.User
	}
	if open("network") {
		s.Network = configured.Network
	}
	if open("cpus") {
		s.Limits.CPUs = configured.Limits.CPUs
	}
	if open("memory") {
		s.Limits.Memory = configured.Limits.Memory
	}
	if open("pids") {
		s.Limits.Pids = configured.Limits.Pids
	}
	s.Limits.Disk, s.Limits.SharedMemory = configured.Limits.Disk, configured.Limits.SharedMemory
	s.Cwd, s.Env, s.Container = configured.Cwd, configured.Env, configured.Container
	if !k.settings.PersistAcrossProcesses && !s.Ephemeral {
		s.Ephemeral, s.Keep = true, true
	}
	return s
}

// spec is what is configured, but for mounts.
func (k *container) spec() sandbox.Spec {
	set := k.settings
	s := sandbox.Spec{Image: set.Image, Cwd: set.Cwd, User: k.user, Network: sandbox.NetworkNone, Limits: sandbox.Limits{
		CPUs: set.CPUs, Memory: orNone(set.Memory), Pids: config.ContainerPids, Disk: orNone(set.Disk), SharedMemory: orNone(set.SharedMemory)}}
	if set.Network {
		s.Network = sandbox.NetworkBridge
	}
	if len(set.Env) > 0 {
		s.Env = make(map[string]string, len(set.Env))
		for name, value := range set.Env {
			s.Env[name] = value.Reveal()
		}
	}
	if set.SnapCompat {
		s.Container = &sandbox.Container{NewPrivileges: true}
	}
	k.extra.Apply(&s)
	if len(k.volumes) > 0 {
		own := sandbox.Container{}
		if s.Container != nil {
			own = *s.Container
		}
		own.Volumes = slices.Concat(k.volumes, own.Volumes)
		s.Container = &own
	}
	return s
}

// mounts are those of the extra arguments beside the others that are configured,
// whose places they take.
func (k *container) mounts(host *mounts.Host, found mounts.Configured) ([]sandbox.Mount, error) {
	if k == nil {
		return found.Mounts, nil
	}
	extra, err := host.Extra(k.extra.Mounts, found.Mounts)
	taken := k.extra.Targets()
	list := slices.DeleteFunc(found.Mounts, func(m sandbox.Mount) bool { return taken[path.Clean(m.Target)] })
	k.volumes = slices.DeleteFunc(found.Volumes, func(v sandbox.Volume) bool { return taken[path.Clean(v.Target)] })
	return append(list, extra...), err
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
