package docker

import (
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// stopSeconds is how long a container may take to end when it is asked to.
const stopSeconds = 10

// describe is the container of a sandbox, as the daemon wants to know it.
func (m *making) describe() (client.ContainerCreateOptions, error) {
	all, err := labels(m.id, m.spec, m.engine.build)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	all[labelTicket], all[labelRun] = m.ticket, m.engine.runLabel()
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
		Init: &noInit, SecurityOpt: []string{sealed}, NetworkMode: container.NetworkMode(m.spec.Network),
		Tmpfs: m.memoryFiles(), Mounts: m.mounts(), AutoRemove: m.spec.Ephemeral,
	}
	host.CapDrop, host.CapAdd = m.spec.Container.Capabilities(m.engine.capabilities(m.spec))
	m.limit(host, all)
	o := client.ContainerCreateOptions{Name: containerName(m.id), Config: config, HostConfig: host}
	if err := m.override(&o); err != nil {
		return o, err
	}
	m.can.leaveOut(host)
	return o, nil
}

// capabilities are what commands have unless a spec says otherwise: to install packages,
// and to become somebody else where they are not somebody already. An ordinary user has
// no use of them with Docker, which only does not forbid them; Podman would put them into
// effect.
func (e *Engine) capabilities(spec sandbox.Spec) []string {
	base := sandbox.DefaultCapabilities()
	if spec.User == "" {
		return base
	}
	if uid, _, err := spec.UserIDs(); e.isPodman() && (err != nil || uid != 0) {
		return nil
	}
	return slices.DeleteFunc(base, func(name string) bool { return name == "SETUID" || name == "SETGID" })
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
	if !m.mounted(sandbox.Home) {
		s.Home = sandbox.Home
	}
	return s
}

// keeps says whether the files of its home and workspace stay.
func (m *making) keeps() bool { return !m.spec.Ephemeral || m.spec.Keep }

// mounted says whether the caller mounts something there.
func (m *making) mounted(target string) bool {
	c := m.spec.Container
	return slices.ContainsFunc(m.spec.Mounts, func(mount sandbox.Mount) bool { return mount.Target == target }) ||
		c != nil && (slices.ContainsFunc(c.Volumes, func(v sandbox.Volume) bool { return v.Target == target }) ||
			slices.ContainsFunc(c.Tmpfs, func(t sandbox.Tmpfs) bool { return t.Target == target }))
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
