package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// Inspect tells what the daemon says that it enforces.
func (e *Engine) Inspect(ctx context.Context, id sandbox.Identity) (sandbox.Posture, error) {
	found, err := e.inspect(ctx, id.Normal())
	if err != nil {
		return sandbox.Posture{}, err
	}
	capabilities, err := e.granted(ctx, found)
	if err != nil {
		return sandbox.Posture{}, err
	}
	var p sandbox.Posture
	p.Facts = append(p.Facts, isolation(e.Name()), namespaces(found.HostConfig), sandbox.Fact{Name: sandbox.FactIDs, Enforced: true})
	p.Facts = append(p.Facts, privileges(found, capabilities)...)
	p.Facts = append(p.Facts, limits(found.HostConfig)...)
	p.Facts = append(p.Facts, network(found.HostConfig), root(found), e.treeKill(), lifetime(found.HostConfig))
	return p, nil
}

func isolation(name string) sandbox.Fact {
	return sandbox.Fact{Name: sandbox.FactIsolation, Value: "container of " + name, Enforced: true}
}

// namespaces lists those that a container has of its own.
func namespaces(h *container.HostConfig) sandbox.Fact {
	own := []string{"mount"}
	shared := []string{}
	for _, n := range []struct {
		name string
		own  bool
	}{
		{"pid", isOwn(h.PidMode)}, {"net", !h.NetworkMode.IsHost()}, {"uts", !h.UTSMode.IsHost()}, {"ipc", !h.IpcMode.IsHost()},
	} {
		if n.own {
			own = append(own, n.name)
		} else {
			shared = append(shared, n.name)
		}
	}
	if h.CgroupnsMode.IsPrivate() {
		own = append(own, "cgroup")
	}
	f := sandbox.Fact{Name: sandbox.FactNamespaces, Value: strings.Join(own, " "), Enforced: true}
	if shared = slices.DeleteFunc(shared, func(n string) bool { return n == "net" }); len(shared) > 0 { // the network has a fact of its own
		f.Deviation = "shared with the host: " + strings.Join(shared, " ")
	}
	return f
}

// privileges are what commands may do. An ordinary user has no capabilities, whatever
// the container may have.
func privileges(c container.InspectResponse, granted []string) []sandbox.Fact {
	h := c.HostConfig
	caps := sandbox.Fact{Name: sandbox.FactCapabilities, Value: "none", Enforced: !h.Privileged}
	var names []string
	for _, c := range granted {
		names = append(names, strings.TrimPrefix(c, "CAP_"))
	}
	slices.Sort(names)
	if len(names) > 0 && commandsAreRoot(c) {
		caps.Value = strings.Join(names, " ")
	}
	if h.Privileged {
		caps.Value, caps.Deviation = "all", "the container is privileged: nothing holds its root"
	}
	sealed := slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return o == "no-new-privileges" || o == "no-new-privileges:true" })
	nnp := sandbox.Fact{Name: sandbox.FactPrivileges, Value: yes(sealed), Enforced: sealed}
	if !sealed {
		nnp.Deviation = "programs may gain privileges"
	}
	open := h.Privileged || slices.Contains(h.SecurityOpt, "seccomp=unconfined")
	filter := sandbox.Fact{Name: sandbox.FactSeccomp, Value: "the daemon's filter", Enforced: !open}
	if open {
		filter.Value, filter.Deviation = "none", "system calls are not filtered"
	}
	return []sandbox.Fact{caps, nnp, filter, {Name: sandbox.FactLandlock, Value: "none", Deviation: ""}}
}

func commandsAreRoot(c container.InspectResponse) bool {
	user, _, _ := strings.Cut(c.Config.User, ":")
	if user != "" && user != "0" || len(c.Config.Cmd) == 0 {
		return false
	}
	start, err := contained.ParseStart(c.Config.Cmd[1:])
	return err == nil && start.User == ""
}

func limits(h *container.HostConfig) []sandbox.Fact {
	limit := func(name, value string, set bool) sandbox.Fact {
		if !set {
			return sandbox.Fact{Name: name, Value: "no limit"}
		}
		return sandbox.Fact{Name: name, Value: value, Enforced: true}
	}
	pids := int64(0)
	if h.PidsLimit != nil {
		pids = *h.PidsLimit
	}
	return []sandbox.Fact{
		limit(sandbox.FactMemory, fmt.Sprintf("%d MiB", h.Memory>>20), h.Memory > 0),
		limit(sandbox.FactCPUs, fmt.Sprintf("%g", float64(h.NanoCPUs)/1e9), h.NanoCPUs > 0),
		limit(sandbox.FactPids, fmt.Sprint(pids), pids > 0),
	}
}

func network(h *container.HostConfig) sandbox.Fact {
	f := sandbox.Fact{Name: sandbox.FactNetwork, Value: string(h.NetworkMode), Enforced: h.NetworkMode.IsNone()}
	if h.NetworkMode.IsHost() {
		f.Deviation = "the host's whole network is reachable"
	}
	return f
}

func root(c container.InspectResponse) sandbox.Fact {
	f := sandbox.Fact{Name: sandbox.FactRoot, Value: fmt.Sprintf("image %s, writable", c.Image)}
	if c.HostConfig.ReadonlyRootfs {
		f.Value, f.Enforced = fmt.Sprintf("image %s, read-only", c.Image), true
	}
	return f
}

func (e *Engine) treeKill() sandbox.Fact {
	return sandbox.Fact{Name: sandbox.FactTreeKill, Value: "by marks", Enforced: true}
}

func lifetime(h *container.HostConfig) sandbox.Fact {
	return sandbox.Fact{Name: sandbox.FactLifetime, Value: "until removed, reaped or the daemon ends it", Enforced: true}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
