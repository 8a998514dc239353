package docker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
)

// askBound is how long a daemon may take to tell what it can do.
const askBound = 5 * time.Second

// abilities are what a daemon can limit, each for itself.
type abilities struct {
	daemon.Limits
	// driver keeps the containers' files; empty while that is not known.
	driver string
}

// abilities asks the daemon, once. One that does not answer now loses no limit by that:
// it is given all of them, and the posture tells what it made of each.
func (e *Engine) abilities(ctx context.Context) abilities {
	if known := e.known.Load(); known != nil {
		return *known
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	facts, err := daemon.Endpoint{Kind: daemon.Kind(e.Name()), Host: e.api.DaemonHost()}.Ask(ctx, e.api)
	if err != nil {
		e.log.Warn("the daemon does not tell what it can limit; it is given every limit", "error", err)
		return abilities{Limits: daemon.Limits{Memory: true, Swap: true, CPUs: true, Pids: true}}
	}
	known := abilities{Limits: facts.Limits, driver: facts.StorageDriver}
	e.known.Store(&known)
	return known
}

// leaveOut takes away what the daemon cannot enforce, which some refuse to be asked for.
func (a abilities) leaveOut(h *container.HostConfig) {
	if !a.Memory {
		h.Memory, h.MemorySwap, h.MemoryReservation = 0, 0, 0
	}
	if !a.CPUs {
		h.NanoCPUs = 0
	}
	if !a.Pids {
		h.PidsLimit = nil
	}
}

// limit sets the limits that every sandbox can have.
func (m *making) limit(h *container.HostConfig, labels map[string]string) {
	l := m.spec.Limits
	h.Memory, h.NanoCPUs = max(l.Memory, 0), int64(max(l.CPUs, 0)*1e9)
	h.PidsLimit = &l.Pids // saying nothing would leave it to the daemon's configuration
	h.ShmSize = m.sharedMemory()
	if l.Disk <= 0 {
		return
	}
	if reason := m.noDisk(); reason != "" {
		labels[labelNoDisk] = reason
	} else {
		h.StorageOpt = map[string]string{"size": fmt.Sprint(l.Disk)}
	}
}

// quotaDrivers limit the files of one container. Others take the option, and nothing
// comes of it.
var quotaDrivers = []string{"overlay2", "btrfs", "zfs", "overlay"}

// noDisk says why the daemon would limit no disk, or is empty while only the daemon
// itself can tell.
func (m *making) noDisk() string { return m.engine.diskless(runtime.GOOS, m.can.driver) }

func (e *Engine) diskless(system, driver string) string {
	if system == "darwin" {
		return "the daemon's disk is that of a virtual machine, which has its own limit"
	}
	if driver != "" && !slices.Contains(quotaDrivers, driver) {
		return fmt.Sprintf("the storage driver %s limits no container", driver)
	}
	if reason := e.noDisk.Load(); reason != nil {
		return *reason
	}
	return ""
}

// refusesDisk says whether the daemon made nothing because it cannot limit the disk,
// and keeps that. Only what daemons say of the option itself is such an answer: one
// that fails in another way, or does not answer, has said nothing of it.
func (m *making) refusesDisk(asked client.ContainerCreateOptions, err error) bool {
	if err == nil || asked.HostConfig.StorageOpt == nil {
		return false
	}
	_, reason, refused := strings.Cut(err.Error(), "--storage-opt is ")
	if refused {
		reason = "storage options are " + strings.TrimSpace(reason)
		m.engine.noDisk.Store(&reason)
	}
	return refused
}

// limits are those that are in force, and why others are not.
func limits(c container.InspectResponse, asked sandbox.Limits, can abilities) []sandbox.Fact {
	h := c.HostConfig
	var pids int64
	if h.PidsLimit != nil {
		pids = *h.PidsLimit
	}
	cpus := float64(h.NanoCPUs) / 1e9
	if cpus == 0 && h.CPUPeriod > 0 {
		cpus = float64(h.CPUQuota) / float64(h.CPUPeriod)
	}
	mib := func(n float64) string { return fmt.Sprintf("%g MiB", n/(1<<20)) }
	number := func(n float64) string { return fmt.Sprintf("%g", n) }
	all := []sandbox.Fact{
		limited(sandbox.FactMemory, mib, float64(h.Memory), float64(asked.Memory), can.Memory),
		limited(sandbox.FactCPUs, number, cpus, asked.CPUs, can.CPUs),
		limited(sandbox.FactPids, number, float64(pids), float64(asked.Pids), can.Pids),
	}
	if all[0].Enforced {
		all[0].Deviation = crowded(h)
	}
	return append(all, diskLimit(c, asked.Disk))
}

// limited judges one limit by what the daemon says that it has set.
func limited(name string, text func(float64) string, set, asked float64, can bool) sandbox.Fact {
	switch {
	case asked <= 0 && set <= 0:
		return sandbox.Fact{Name: name, Value: "no limit"}
	case asked > 0 && !can:
		return sandbox.Fact{Name: name, Value: "no limit", Deviation: fmt.Sprintf("not enforced: %s was asked for, and the daemon's machine cannot do it", text(asked))}
	case set <= 0:
		return sandbox.Fact{Name: name, Value: "no limit", Deviation: fmt.Sprintf("not enforced: %s was asked for, and the daemon has left it out", text(asked))}
	}
	f := sandbox.Fact{Name: name, Value: text(set), Enforced: true}
	if asked > 0 && set > asked {
		f.Deviation = text(asked) + " was asked for"
	}
	return f
}

func diskLimit(c container.InspectResponse, asked int64) sandbox.Fact {
	f := sandbox.Fact{Name: sandbox.FactDisk, Value: "no limit"}
	size := c.HostConfig.StorageOpt["size"]
	switch {
	case size != "":
		f.Value, f.Enforced = size+" bytes, without what is mounted", true
	case asked > 0:
		reason := c.Config.Labels[labelNoDisk]
		if reason == "" {
			reason = "the daemon does not say that it has it"
		}
		f.Deviation = fmt.Sprintf("not enforced: %d MiB was asked for; %s", asked>>20, reason)
	}
	return f
}
