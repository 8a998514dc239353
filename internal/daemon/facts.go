package daemon

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
)

// Facts are what an engine says of itself.
type Facts struct {
	Kind       Kind
	Version    string
	APIVersion string // the newest that it speaks
	OS         string // as Go calls it
	Arch       string // as Go calls it; the kernel's, whatever the engine was built for

	Rootless    bool
	UsernsRemap bool
	SELinux     bool
	AppArmor    bool
	Seccomp     string // the default profile's name; empty without a filter

	CgroupVersion string // "1" or "2"
	CgroupDriver  string
	StorageDriver string
	BackingFS     string // what the storage driver stands on
	RootDir       string // on the engine's machine
	Limits        Limits
	Warnings      []string
}

// Limits are those that the engine can enforce.
type Limits struct{ Memory, Swap, CPUs, Pids bool }

// Missing names the limits of the contract that cannot be enforced.
func (l Limits) Missing() []string {
	var missing []string
	for _, limit := range []struct {
		name     string
		enforced bool
	}{{"memory", l.Memory}, {"cpus", l.CPUs}, {"pids", l.Pids}} {
		if !limit.enforced {
			missing = append(missing, limit.name)
		}
	}
	return missing
}

// Ask asks the engine, by a client of the endpoint's, for its facts. That is one request: engines run
// programs to answer this one, and others to tell their version, which is in here too.
func (e Endpoint) Ask(ctx context.Context, c *client.Client) (Facts, error) {
	answer, err := c.Info(ctx, client.InfoOptions{})
	if err != nil {
		return Facts{}, fmt.Errorf("cannot ask the engine at %s what it can do: %w", e.Host, core(err))
	}
	return e.facts(answer.Info), nil
}

func (e Endpoint) facts(info system.Info) Facts {
	f := Facts{
		Kind:          e.Kind,
		Version:       info.ServerVersion,
		APIVersion:    e.APIVersion,
		OS:            info.OSType,
		Arch:          goarch(info.Architecture),
		CgroupVersion: info.CgroupVersion,
		CgroupDriver:  info.CgroupDriver,
		StorageDriver: info.Driver,
		RootDir:       info.DockerRootDir,
		Limits:        Limits{Memory: info.MemoryLimit, Swap: info.SwapLimit, CPUs: info.CPUCfsQuota && info.CPUCfsPeriod, Pids: info.PidsLimit},
		Warnings:      info.Warnings,
	}
	for _, status := range info.DriverStatus {
		if status[0] == "Backing Filesystem" {
			f.BackingFS = status[1]
		}
	}
	for _, option := range info.SecurityOptions {
		name, values := securityOption(option)
		switch name {
		case "rootless":
			f.Rootless = true
		case "userns":
			f.UsernsRemap = true
		case "selinux":
			f.SELinux = true
		case "apparmor":
			f.AppArmor = true
		case "seccomp":
			f.Seccomp = cmp.Or(values["profile"], "default")
		}
	}
	if f.Seccomp == "unconfined" {
		f.Seccomp = ""
	}
	// Without a driver there are no groups, and nobody but root has groups of version 1: what the kernel
	// could do is then of no use, though both engines go on to report it.
	if f.CgroupDriver == "none" || f.Rootless && f.CgroupVersion == "1" {
		f.Limits = Limits{}
	}
	return f
}

// securityOption takes "name=seccomp,profile=default" apart; old engines say only "seccomp".
func securityOption(option string) (name string, values map[string]string) {
	values = make(map[string]string)
	for pair := range strings.SplitSeq(option, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			key, value = "name", pair
		}
		values[key] = value
	}
	return values["name"], values
}

// goarch is Go's name of an architecture that may be called as the kernel calls it.
func goarch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	return machine
}
