package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/daemon"
)

// containers looks for an engine of containers, Docker's or Podman's: for what answers, not for a program.
func containers(kind daemon.Kind) func(context.Context, *machine) []Finding {
	return func(ctx context.Context, m *machine) []Finding {
		began := time.Now()
		found, err := m.findEngine(ctx, kind)
		var failed *daemon.Error
		if errors.As(err, &failed) {
			return []Finding{m.noEngine(kind, failed)}
		}
		var facts daemon.Facts
		if err == nil {
			facts, err = askEngine(ctx, found)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return []Finding{Note.finding(string(kind), again, "answers at %s, but does not tell what it can do within %v", found.Host, time.Since(began).Round(10*time.Millisecond))}
		}
		if err != nil {
			return []Finding{Note.finding(string(kind), quote(string(kind))+" info # shows why", "answers at %s, but cannot be used: %v", found.Host, err)}
		}
		return []Finding{m.engine(found, facts)}
	}
}

// findEngine finds an engine of one kind, whichever of the two is chosen for sandboxes: a DOCKER_HOST that
// leads to Docker does not say that there is no Podman.
func (m *machine) findEngine(ctx context.Context, kind daemon.Kind) (daemon.Endpoint, error) {
	o := daemon.Options{Lookup: m.lookup, Kind: kind, Patience: programBound, Root: m.root}
	found, err := daemon.Find(ctx, o)
	var failed *daemon.Error
	if kind == daemon.Podman && errors.As(err, &failed) && failed.From == "DOCKER_HOST" {
		o.Lookup = without(m.lookup, "DOCKER_HOST")
		return daemon.Find(ctx, o)
	}
	return found, err
}

func without(lookup config.Lookup, hidden string) config.Lookup {
	return func(name string) (string, bool) {
		if name == hidden {
			return "", false
		}
		return lookup(name)
	}
}

func askEngine(ctx context.Context, found daemon.Endpoint) (daemon.Facts, error) {
	c, err := found.Client()
	if err != nil {
		return daemon.Facts{}, err
	}
	defer c.Close()
	return found.Ask(ctx, c)
}

// engine judges one that answers: what it cannot enforce, and what it was preferred to.
func (m *machine) engine(found daemon.Endpoint, facts daemon.Facts) Finding {
	f := ok(string(found.Kind), "version %s at %s", facts.Version, found.Host)
	if facts.Rootless {
		f.Found += ", rootless"
	} else {
		f.Found += ", not rootless"
	}
	for _, passed := range found.Passed {
		f.Found += fmt.Sprintf("; not used: %s, %s", passed.Host, passed.Why)
		// That somebody may not use the machine's engine is no fault where there is another.
		if passed.Reason != daemon.NotAllowed {
			f.Severity, f.Fix = Note, m.mendEngine(found.Kind, passed)
		}
	}
	if missing := facts.Limits.Missing(); len(missing) > 0 {
		f.Severity, f.Fix = Note, m.mendEngineLimits(found, facts)
		f.Found += "; cannot limit " + strings.Join(missing, ", ")
	} else {
		f.Found += "; limits memory, cpus, pids"
	}
	return f
}

func (m *machine) mendEngineLimits(found daemon.Endpoint, facts daemon.Facts) string {
	switch {
	case found.Path() == "" || facts.OS != "linux":
		return "docker --host " + quote(found.Host) + " info # shows what its machine lacks"
	case facts.Rootless && facts.CgroupVersion == "2":
		return m.delegate()
	case facts.Rootless:
		return "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"
	case !facts.Limits.Memory:
		return "boot with cgroup_enable=memory on the kernel's command line"
	}
	return m.newKernel()
}

// noEngine says why there is none.
func (m *machine) noEngine(kind daemon.Kind, failed *daemon.Error) Finding {
	name := string(kind)
	note := func(format string, args ...any) Finding {
		return Note.finding(name, m.mendEngine(kind, failed), format, args...)
	}
	switch {
	case failed.From != "" && failed.Host == "":
		return note("%s cannot be used: %s", failed.From, failed.Why)
	case failed.From != "":
		return note("%s leads to %s: %s", failed.From, failed.Host, failed.Why)
	case failed.Reason == daemon.NotAllowed:
		return note("installed, but %s may not use %s", m.who(), failed.Host)
	case failed.Reason != daemon.NotFound:
		return note("does not answer at %s: %s", failed.Host, failed.Why)
	case kind == daemon.Docker && m.inContainer():
		return note("no socket of its daemon is mounted into this container; only its engine needs one")
	case kind == daemon.Docker && !m.hasAdmin("dockerd") && m.has(name):
		return note("only its client is installed")
	case kind == daemon.Docker && !m.hasAdmin("dockerd"), kind == daemon.Podman && !m.has(name):
		return note("not installed; only its engine needs it")
	case kind == daemon.Podman:
		return note("installed, but its service does not run: nothing is at %s", m.podmanSocket())
	}
	return note("installed, but its daemon does not run")
}

// mendEngine is the command that brings one to answer.
func (m *machine) mendEngine(kind daemon.Kind, failed *daemon.Error) string {
	docker := kind == daemon.Docker
	switch {
	case strings.HasPrefix(failed.From, "context ") && !strings.HasSuffix(failed.From, " DOCKER_CONTEXT"):
		return "docker context use default # or start what the context leads to"
	case failed.From != "":
		variable := failed.From[strings.LastIndex(failed.From, " ")+1:]
		return "unset " + variable + " # or start what it leads to"
	case docker && failed.Reason == daemon.NotFound && m.inContainer():
		return m.anew("-v /var/run/docker.sock:/var/run/docker.sock")
	case runtime.GOOS != "linux" && m.has(string(kind)):
		return failed.Fix // its engine is in a virtual machine, which daemon knows the ways of
	case failed.Reason == daemon.NotAllowed && docker:
		return m.sudo() + "usermod -aG docker " + quote(m.who()) + " && newgrp docker"
	case failed.Reason == daemon.Unusable:
		return m.install(string(kind))
	case !docker && (failed.Reason != daemon.NotFound || m.has("podman")):
		return m.podmanService()
	case !docker || failed.Reason == daemon.NotFound && !m.hasAdmin("dockerd"):
		return m.install(string(kind))
	case failed.Reason == daemon.NotFound, errors.Is(failed, syscall.ECONNREFUSED):
		return m.start("docker", "sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'")
	}
	return m.restart("docker")
}

func (m *machine) podmanSocket() string {
	dir := "/run"
	if m.uid != 0 && m.env("XDG_RUNTIME_DIR") != "" {
		dir = m.env("XDG_RUNTIME_DIR")
	}
	return filepath.Join(dir, "podman", "podman.sock")
}

func (m *machine) podmanService() string {
	socket := m.podmanSocket()
	switch {
	case m.hasSystemd() && m.uid == 0:
		return "systemctl enable --now podman.socket"
	case m.hasSystemd():
		return "systemctl --user enable --now podman.socket"
	}
	return "mkdir -p " + quote(filepath.Dir(socket)) + " && podman system service --time=0 unix://" + quote(socket) + " &"
}
