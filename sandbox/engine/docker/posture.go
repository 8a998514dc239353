package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/internal/capability"
	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// Inspect tells what the daemon says that it enforces. What a spec gives away itself is
// not in it: the Manager adds that.
func (e *Engine) Inspect(ctx context.Context, id sandbox.Identity) (sandbox.Posture, error) {
	found, err := e.inspect(ctx, id.Normal())
	if err != nil {
		return sandbox.Posture{}, err
	}
	info, err := e.info(found.Config.Labels, found.State.Status, found.Created, "")
	if err != nil {
		return sandbox.Posture{}, err
	}
	granted, err := e.granted(ctx, found)
	if err != nil {
		return sandbox.Posture{}, err
	}
	var p sandbox.Posture
	p.Facts = append(p.Facts, isolation(e.Name()), namespaces(found.HostConfig, info.Spec), sandbox.Fact{Name: sandbox.FactIDs, Enforced: true})
	p.Facts = append(p.Facts, privileges(found, granted)...)
	p.Facts = append(p.Facts, limits(found, info.Spec.Limits, e.abilities(ctx))...)
	p.Facts = append(p.Facts, networkFact(found.HostConfig), root(found), e.treeKill(), lifetime(found.HostConfig))
	for _, weaker := range unasked(found, info.Spec, granted) {
		weaken(p.Facts, weaker)
	}
	return p, nil
}

// weaken adds to a fact what nobody asked for; what is about a fact that only a trial
// shows is about the isolation.
func weaken(facts []sandbox.Fact, by sandbox.Fact) {
	i := max(0, slices.IndexFunc(facts, func(f sandbox.Fact) bool { return f.Name == by.Name }))
	f := &facts[i]
	text := fmt.Sprintf("%s, which nobody asked for: %s", by.Value, by.Deviation)
	if f.Deviation != "" {
		text = f.Deviation + "; " + text
	}
	f.Deviation, f.Enforced = text, f.Enforced && by.Enforced
}

func isolation(name string) sandbox.Fact {
	return sandbox.Fact{Name: sandbox.FactIsolation, Value: "container of " + name, Enforced: true}
}

// namespaces lists those that a container has of its own, and was not asked to share:
// Podman does not tell of all.
func namespaces(h *container.HostConfig, spec sandbox.Spec) sandbox.Fact {
	asked := spec.Container
	if asked == nil {
		asked = new(sandbox.Container)
	}
	ipc := container.IpcMode(asked.IPC)
	own := []string{"mount"}
	for _, n := range []struct {
		name   string
		shared bool
	}{
		{"pid", !isOwn(h.PidMode)}, {"net", h.NetworkMode.IsHost() || h.NetworkMode.IsContainer()},
		{"uts", h.UTSMode.IsHost() || asked.UTS == sandbox.HostSpace}, {"ipc", h.IpcMode.IsHost() || h.IpcMode.IsContainer() || ipc.IsHost() || ipc.IsContainer()}, {"cgroup", !h.CgroupnsMode.IsPrivate()},
	} {
		if !n.shared {
			own = append(own, n.name)
		}
	}
	f := sandbox.Fact{Name: sandbox.FactNamespaces, Value: strings.Join(own, " "), Enforced: true}
	if !slices.Contains(own, "pid") { // no spec can ask for that
		f.Enforced, f.Deviation = false, "commands see processes that are not the sandbox's"
	}
	return f
}

// privileges are what commands may do. An ordinary user has no capabilities, whatever
// the container may have.
func privileges(c container.InspectResponse, granted []string) []sandbox.Fact {
	h := c.HostConfig
	caps := sandbox.Fact{Name: sandbox.FactCapabilities, Value: "none", Enforced: !h.Privileged}
	switch names := bare(granted); {
	case !commandsAreRoot(c):
	case h.Privileged, slices.Contains(names, sandbox.AllCaps):
		caps.Value = sandbox.AllCaps
	case len(names) > 0:
		caps.Value = strings.Join(inOrder(names), " ")
	}
	nnp := sandbox.Fact{Name: sandbox.FactPrivileges, Value: yes(isSealed(h)), Enforced: isSealed(h)}
	open := h.Privileged || slices.Contains(h.SecurityOpt, "seccomp="+sandbox.Unconfined)
	filter := sandbox.Fact{Name: sandbox.FactSeccomp, Value: "the daemon's filter", Enforced: !open}
	if open {
		filter.Value = "none"
	}
	return []sandbox.Fact{caps, nnp, filter, {Name: sandbox.FactLandlock, Value: "none"}}
}

// inOrder is the kernel's, in which a trial finds them.
func inOrder(names []string) []string {
	return slices.DeleteFunc(capability.Names(1<<capability.Count-1), func(name string) bool { return !slices.Contains(names, name) })
}

func commandsAreRoot(c container.InspectResponse) bool {
	user, _, _ := strings.Cut(c.Config.User, ":")
	if user != "" && user != "0" || len(c.Config.Cmd) == 0 {
		return false
	}
	start, err := contained.ParseStart(c.Config.Cmd[1:])
	return err == nil && start.User == ""
}

func networkFact(h *container.HostConfig) sandbox.Fact {
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
