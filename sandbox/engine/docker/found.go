package docker

import (
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/sandbox"
)

// unasked lists what makes a container weaker than its spec says that it is: what the
// daemon has is read as a spec, and judged as one. What the spec says itself is the
// Manager's to tell.
func unasked(c container.InspectResponse, spec sandbox.Spec, granted []string) []sandbox.Fact {
	asked := spec.Deviations()
	found := sandbox.Spec{Network: spec.Network, Container: readBack(c, spec, granted)}.Deviations()
	return slices.DeleteFunc(found, func(f sandbox.Fact) bool { return slices.Contains(asked, f) })
}

// readBack is the part of a container that Deviations judges, as the daemon has it.
// Where the spec leaves something to the daemon, its choice is the default.
func readBack(c container.InspectResponse, spec sandbox.Spec, granted []string) *sandbox.Container {
	h, asked := c.HostConfig, spec.Container
	if asked == nil {
		asked = new(sandbox.Container)
	}
	found := &sandbox.Container{
		CapAdd: beyond(granted), Privileged: h.Privileged, NewPrivileges: !isSealed(h), Groups: h.GroupAdd, Annotations: h.Annotations,
		BareSystemPaths: h.MaskedPaths != nil && len(h.MaskedPaths) == 0 || slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return strings.EqualFold(o, unmasked) }),
		DeviceRules:     h.DeviceCgroupRules,
		IPC:             string(h.IpcMode), UTS: string(h.UTSMode), UserNS: string(h.UsernsMode),
		MemorySwap: h.MemorySwap, OOMScoreAdj: h.OomScoreAdj,
	}
	for _, option := range h.SecurityOpt {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "seccomp":
			found.Seccomp = value
		case "apparmor":
			found.AppArmor = value
		case "label":
			// Daemons give up the label themselves where it could not hold.
			if value != "disable" || !h.Privileged && !h.IpcMode.IsHost() || slices.Contains(asked.SELinux, value) {
				found.SELinux = append(found.SELinux, value)
			}
		}
	}
	if asked.Runtime != "" {
		found.Runtime = h.Runtime
	}
	if asked.CgroupNS != "" || !h.CgroupnsMode.IsHost() { // the default where cgroups have version 1
		found.CgroupNS = string(h.CgroupnsMode)
	}
	for _, d := range h.Devices {
		found.Devices = append(found.Devices, sandbox.Device{Source: d.PathOnHost, Target: d.PathInContainer, Access: d.CgroupPermissions})
	}
	if len(h.DeviceRequests) > 0 {
		found.GPUs = &sandbox.GPUs{Count: h.DeviceRequests[0].Count, IDs: h.DeviceRequests[0].DeviceIDs}
	}
	if !slices.Contains([]string{string(spec.Network), "default", string(sandbox.NetworkNone), string(sandbox.NetworkHost)}, string(h.NetworkMode)) {
		found.Network = string(h.NetworkMode)
	}
	found.Ports = published(h)
	for _, u := range h.Ulimits {
		found.Ulimits = append(found.Ulimits, sandbox.Ulimit{Name: strings.ToLower(strings.TrimPrefix(u.Name, "RLIMIT_")), Soft: u.Soft, Hard: u.Hard})
	}
	return found
}

func published(h *container.HostConfig) []sandbox.Port {
	var ports []sandbox.Port
	for port, bindings := range h.PortBindings {
		for _, b := range bindings {
			p := sandbox.Port{Port: port.Num(), Protocol: string(port.Proto()), Host: portNumber(b.HostPort)}
			if b.HostIP.IsValid() {
				p.Address = b.HostIP.String()
			}
			ports = append(ports, p)
		}
	}
	return ports
}

func isSealed(h *container.HostConfig) bool {
	return slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return o == sealed || o == sealed+":true" })
}

// bare are names of capabilities as a spec has them.
func bare(names []string) []string {
	all := make([]string, 0, len(names))
	for _, name := range names {
		all = append(all, strings.TrimPrefix(name, "CAP_"))
	}
	return all
}

// beyond are the capabilities that are not the default.
func beyond(granted []string) []string {
	return slices.DeleteFunc(bare(granted), func(name string) bool { return slices.Contains(sandbox.DefaultCapabilities(), name) })
}
