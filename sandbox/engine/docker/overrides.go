package docker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"hermes.example/hermes/sandbox"
)

// sealed keeps programs from gaining privileges.
const sealed = "no-new-privileges"

// override adds what a spec says of its container alone. Names and values were checked
// with the spec.
func (m *making) override(o *client.ContainerCreateOptions) error {
	c := m.spec.Container
	if c == nil {
		return nil
	}
	if err := tooNew(m.engine.api.ClientVersion(), c); err != nil {
		return err
	}
	h := o.HostConfig
	m.overrideRights(h, c)
	overrideDevices(h, c)
	overrideNamespaces(h, c)
	overrideLimits(h, c)
	if err := overrideNetwork(o, c); err != nil {
		return err
	}
	for _, v := range c.Volumes {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeVolume, Source: v.Name, Target: v.Target, ReadOnly: v.ReadOnly, VolumeOptions: &mount.VolumeOptions{NoCopy: v.NoCopy}})
	}
	for _, t := range c.Tmpfs {
		h.Tmpfs[t.Target] = strings.Join(t.Options, ",")
	}
	h.ReadonlyRootfs, h.Sysctls, h.Annotations = c.ReadOnlyRoot, c.Sysctls, c.Annotations
	maps.Copy(o.Config.Labels, c.Labels)
	return nil
}

// tooNew refuses what a daemon of that version of the API would leave out in silence.
func tooNew(version string, c *sandbox.Container) error {
	for _, field := range []struct {
		what, since string
		used        bool
	}{
		{"annotations", "1.43", len(c.Annotations) > 0},
		{"a MAC address", "1.44", c.MAC != ""},
	} {
		if field.used && versions.LessThan(version, field.since) {
			return fmt.Errorf("the daemon is too old for %s: its API has the version %s, which came with %s; leave it out, or use a newer daemon", field.what, version, field.since)
		}
	}
	return nil
}

func (m *making) overrideRights(h *container.HostConfig, c *sandbox.Container) {
	h.Privileged, h.GroupAdd, h.Runtime = c.Privileged, c.Groups, c.Runtime
	if c.NewPrivileges {
		h.SecurityOpt = slices.DeleteFunc(h.SecurityOpt, func(o string) bool { return o == sealed })
	}
	if c.Seccomp != "" {
		h.SecurityOpt = append(h.SecurityOpt, "seccomp="+c.Seccomp)
	}
	if c.AppArmor != "" {
		h.SecurityOpt = append(h.SecurityOpt, "apparmor="+c.AppArmor)
	}
	for _, part := range c.SELinux {
		h.SecurityOpt = append(h.SecurityOpt, "label="+part)
	}
	switch {
	case !c.BareSystemPaths:
	case m.engine.isPodman():
		h.SecurityOpt = append(h.SecurityOpt, unmasked) // it takes an empty list for none
	default:
		h.MaskedPaths, h.ReadonlyPaths = []string{}, []string{}
	}
}

// unmasked is how Podman is told to mask nothing of /proc and /sys.
const unmasked = "unmask=ALL"

func overrideDevices(h *container.HostConfig, c *sandbox.Container) {
	for _, d := range c.Devices {
		h.Devices = append(h.Devices, container.DeviceMapping{PathOnHost: d.Source, PathInContainer: d.Target, CgroupPermissions: d.Access})
	}
	h.DeviceCgroupRules = c.DeviceRules
	if g := c.GPUs; g != nil {
		h.DeviceRequests = []container.DeviceRequest{{Driver: g.Driver, Count: g.Count, DeviceIDs: g.IDs, Capabilities: [][]string{append(slices.Clone(g.Capabilities), "gpu")}, Options: map[string]string{}}}
	}
}

func overrideNamespaces(h *container.HostConfig, c *sandbox.Container) {
	h.IpcMode, h.UTSMode, h.UsernsMode = container.IpcMode(c.IPC), container.UTSMode(c.UTS), container.UsernsMode(c.UserNS)
	h.CgroupnsMode = container.CgroupnsMode(c.CgroupNS)
	if !h.IpcMode.IsEmpty() && !h.IpcMode.IsPrivate() && !h.IpcMode.IsShareable() {
		h.ShmSize = 0 // the memory to share is somebody else's, or there is none
	}
}

func overrideLimits(h *container.HostConfig, c *sandbox.Container) {
	h.MemorySwap, h.MemoryReservation, h.CPUShares = c.MemorySwap, c.MemoryReservation, c.CPUShares
	h.CpusetCpus, h.CpusetMems, h.CgroupParent, h.OomScoreAdj = c.CPUSet, c.MemorySet, c.CgroupParent, c.OOMScoreAdj
	for _, u := range c.Ulimits {
		h.Ulimits = append(h.Ulimits, &container.Ulimit{Name: u.Name, Soft: u.Soft, Hard: u.Hard})
	}
}
