package configured

import (
	"fmt"
	"os"
	"path"
	"slices"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/containerargs"
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
func (s *Sandboxes) container(c config.Config) (*container, error) {
	if !s.Containers() {
		return nil, nil
	}
	settings, err := c.Container()
	if err != nil {
		return nil, err
	}
	user, warnings := hostUser(settings.RunAsHostUser, os.Getuid(), os.Getgid())
	extra, more, err := containerargs.Parse(settings.ExtraArgs, s.options.Lookup)
	if err == nil {
		err = extra.CheckNetwork(settings.Network)
	}
	for _, line := range slices.Concat(settings.Ignored, warnings, more) {
		s.options.Say(line)
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
