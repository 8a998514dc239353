package docker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// Capabilities that commands have: to install packages, and to become somebody else.
var (
	ownerCapabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"}
	userCapabilities  = []string{"CAP_SETGID", "CAP_SETUID"}
)

// stopSeconds is how long a container may take to end when it is asked to.
const stopSeconds = 10

// describe is the container of a sandbox, as the daemon wants to know it.
func (m *making) describe() (*container.Config, *container.HostConfig, error) {
	all, err := labels(m.id, m.spec, m.engine.build)
	if err != nil {
		return nil, nil, err
	}
	all[labelTicket] = m.ticket
	seconds, noInit := stopSeconds, false
	config := &container.Config{
		Image: m.image.ID, Labels: all, Env: m.env(), WorkingDir: m.cwd(), User: m.spec.User,
		Entrypoint: []string{contained.Program}, Cmd: m.start().Arguments(),
		StopSignal: contained.StopSignalName, StopTimeout: &seconds,
		// What an image does to see whether its own program lives, it would do to ours.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if m.imageUser() != "" {
		config.User = "0:0" // the guest's; commands get the image's
	}
	host := &container.HostConfig{
		Init: &noInit, CapDrop: []string{"ALL"}, CapAdd: ownerCapabilities, SecurityOpt: []string{"no-new-privileges"},
		NetworkMode: container.NetworkMode(m.spec.Network), Tmpfs: m.memoryFiles(), Mounts: m.mounts(), AutoRemove: m.spec.Ephemeral,
		Resources: m.resources(),
	}
	if m.spec.User == "" {
		host.CapAdd = slices.Concat(ownerCapabilities, userCapabilities)
	}
	if m.spec.Limits.SharedMemory > 0 {
		host.ShmSize = m.spec.Limits.SharedMemory
	}
	return config, host, nil
}

func (m *making) resources() container.Resources {
	l := m.spec.Limits
	var r container.Resources
	if l.Memory > 0 {
		r.Memory = l.Memory
	}
	if l.CPUs > 0 {
		r.NanoCPUs = int64(l.CPUs * 1e9)
	}
	if l.Pids > 0 {
		r.PidsLimit = &l.Pids
	}
	return r
}

// env is added to that of the image.
func (m *making) env() []string {
	env := maps.Clone(m.spec.Env)
	if env == nil {
		env = make(map[string]string)
	}
	// A user that the image does not know would have the root directory.
	if _, given := env["HOME"]; !given && m.spec.User != "" {
		env["HOME"] = sandbox.Home
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

func (m *making) cwd() string {
	switch {
	case m.spec.Cwd != "":
		return m.spec.Cwd
	case m.image.Config != nil && m.image.Config.WorkingDir != "":
		return m.image.Config.WorkingDir
	}
	return sandbox.Workspace
}

// imageUser is whom the image names, if that is not root and nobody else was asked for.
func (m *making) imageUser() string {
	if m.spec.User != "" || m.image.Config == nil {
		return ""
	}
	user := m.image.Config.User
	name, _, _ := strings.Cut(user, ":")
	if name == "root" || name == "0" {
		return ""
	}
	return user
}

// start is what the guest is told.
func (m *making) start() contained.Start {
	s := contained.Start{User: m.imageUser(), Ephemeral: m.spec.Ephemeral, Offline: m.spec.Network == sandbox.NetworkNone, Build: m.engine.build}
	if s.User != "" && !m.mounted(sandbox.Workspace) {
		s.Owned = []string{sandbox.Workspace}
	}
	return s
}

// keeps says whether the files of its home and workspace stay.
func (m *making) keeps() bool { return !m.spec.Ephemeral || m.spec.Keep }

// mounted says whether the caller mounts something there.
func (m *making) mounted(target string) bool {
	return slices.ContainsFunc(m.spec.Mounts, func(mount sandbox.Mount) bool { return mount.Target == target })
}

func (m *making) mounts() []mount.Mount {
	list := append([]mount.Mount{m.engine.guestMount()}, m.own...)
	if m.far {
		return list
	}
	for _, b := range m.spec.Mounts {
		list = append(list, bind(b.Source, b.Target, b.ReadOnly))
	}
	return list
}

func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly}
}

// memoryFile is a file system in memory.
type memoryFile struct {
	path, options string
	size          int64
}

// memoryFiles are those of every sandbox, and those that an ephemeral one has besides in
// place of what others keep, the most needed first.
func (m *making) memoryFiles() map[string]string {
	const mib = 1 << 20
	list := []memoryFile{
		{"/tmp", "rw,exec,nosuid", 512 * mib}, // Docker's default is noexec
		{"/var/tmp", "rw,noexec,nosuid", 256 * mib},
		{"/run", "rw,noexec,nosuid", 64 * mib},
	}
	if !m.keeps() {
		options := "rw,exec"
		if uid, gid, err := m.spec.UserIDs(); err == nil && m.spec.User != "" {
			options += fmt.Sprintf(",uid=%d,gid=%d", uid, gid)
		}
		list = append(list, memoryFile{sandbox.Workspace, options, 10 << 30}, memoryFile{sandbox.Home, options, 1 << 30}, memoryFile{"/home", options, 1 << 30})
	}
	all := make(map[string]string, len(list))
	// What is in them counts to the memory limit. If they could fill it, a full one
	// would leave no room for any command, not even for one that empties it.
	room := m.spec.Limits.Memory / 4 * 3
	for _, f := range list {
		if m.mounted(f.path) {
			continue
		}
		if m.spec.Limits.Memory > 0 {
			f.size = max(min(f.size, room/2/mib*mib), mib)
			room -= f.size
		}
		all[f.path] = f.options + ",size=" + size(f.size)
	}
	return all
}

// size is a number of bytes as options of mounts have it.
func size(bytes int64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%dg", bytes>>30)
	}
	return fmt.Sprintf("%dm", bytes>>20)
}
