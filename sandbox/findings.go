package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/subid"
	"hermes.example/hermes/internal/wire"
)

// namespaces are those that a sandbox can have of its own: our words for the
// kernel's links.
var namespaces = []struct{ name, link string }{
	{"user", "user"}, {"mount", "mnt"}, {"pid", "pid"}, {"net", "net"}, {"uts", "uts"}, {"ipc", "ipc"}, {"cgroup", "cgroup"},
}

// holdAgainst corrects the engine's facts by what was found inside, and adds those
// that can only be found there.
func (p *Posture) holdAgainst(found wire.Probe, out outside) {
	for i := range p.Facts {
		f := &p.Facts[i]
		switch f.Name {
		case FactNamespaces:
			if shared := sharedNamespaces(f.Value, found.Namespaces, out); len(shared) > 0 {
				f.refute("shared with the host: " + strings.Join(shared, " "))
			}
		case FactIDs:
			f.holdIDs(found.UIDMap)
		case FactCapabilities:
			caps := strings.Join(found.Capabilities, " ")
			if caps == "" {
				caps = "none"
			}
			if caps != f.Value && f.Value != AllCaps { // which of them there are is the kernel's affair
				f.refute(caps)
			}
		case FactPrivileges:
			f.holds(found.NoNewPrivileges)
		case FactSeccomp:
			f.holds(found.Seccomp)
		case FactLandlock:
			f.holds(found.Landlock != wire.LandlockLacks)
		case FactNetwork:
			devices := slices.DeleteFunc(slices.Clone(found.Interfaces), func(d string) bool { return d == "lo" })
			if f.Enforced && len(devices) > 0 {
				f.refute("devices " + strings.Join(devices, " "))
			}
		case FactRoot:
			if strings.Contains(f.Value, "read-only") && len(found.WritableRoot) > 0 {
				f.refute("writable: " + strings.Join(found.WritableRoot, " "))
			}
		}
	}
	p.Host = visible(found.Mounts, out)
	for _, t := range found.Trials {
		p.Trials = append(p.Trials, Trial(t))
	}
	p.Facts = append(p.Facts, hostFact(p.Host, found.Mounts, out), callsFact(p.Trials))
}

// holdIDs compares the map of ids. An engine that does not make it itself leaves it to
// be found.
func (f *Fact) holdIDs(uidMap string) {
	ids := subid.MapText(uidMap)
	if f.Value != "" {
		if !strings.HasSuffix(f.Value, ids) {
			f.refute(ids)
		}
		return
	}
	f.Value = "container: " + ids
	if subid.MapsRoot(uidMap) {
		f.Value, f.Deviation = "shared: "+ids, "root inside has the number of root outside; a daemon that is rootless, or remaps ids, tells them apart"
	}
}

// holds refutes a fact that is claimed and not found.
func (f *Fact) holds(found bool) {
	if f.Enforced && !found {
		f.refute("no")
	}
}

// refute puts what was found in the place of what the engine said.
func (f *Fact) refute(found string) {
	f.Deviation = fmt.Sprintf("found by trial, where the engine had set up %q", f.Value)
	f.Value, f.Enforced = found, false
}

// sharedNamespaces lists those that the engine claims and that are the host's.
func sharedNamespaces(claimed string, inside map[string]string, out outside) []string {
	var shared []string
	for _, n := range namespaces {
		link, known := inside[n.link]
		if slices.Contains(strings.Fields(claimed), n.name) && known && link == out.namespaces[n.link] {
			shared = append(shared, n.name)
		}
	}
	return shared
}

// visible lists what is of the host: its file systems are mounted out here too.
func visible(mounts []wire.ProbedMount, out outside) []HostPath {
	var paths []HostPath
	for _, m := range mounts {
		hides := m.Device && strings.HasPrefix(m.Target, "/proc/")
		// Engines of containers have a sandbox's root mounted out here, too.
		own := m.Target == "/" && (m.System != out.rootSystem || m.Root != out.root)
		if out.systems[m.System] && !hides && !own {
			paths = append(paths, HostPath{Path: m.Target, Writable: !m.ReadOnly, Device: m.Device})
		}
	}
	slices.SortFunc(paths, func(a, b HostPath) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(paths)
}

func hostFact(paths []HostPath, mounts []wire.ProbedMount, out outside) Fact {
	f := Fact{Name: FactHost, Enforced: true}
	for _, m := range mounts {
		if out.root != "" && m.System == out.rootSystem && m.Root == out.root {
			f.Enforced, f.Deviation = false, "the host's whole file system is visible at "+m.Target
		}
	}
	var parts []string
	for _, kind := range []struct {
		name string
		has  func(HostPath) bool
	}{
		{"read-only", func(p HostPath) bool { return !p.Device && !p.Writable }},
		{"writable", func(p HostPath) bool { return !p.Device && p.Writable }},
		{"devices", func(p HostPath) bool { return p.Device }},
	} {
		if names := summary(paths, kind.has); names != "" {
			parts = append(parts, kind.name+" "+names)
		}
	}
	if f.Value = strings.Join(parts, "; "); f.Value == "" {
		f.Value = "nothing"
	}
	return f
}

// summary names the paths of one kind, many in one directory as a number.
func summary(paths []HostPath, kind func(HostPath) bool) string {
	const many = 4
	siblings := make(map[string]int)
	for _, p := range paths {
		if kind(p) {
			siblings[path.Dir(p.Path)]++
		}
	}
	var names []string
	for _, p := range paths {
		if !kind(p) {
			continue
		}
		name, dir := p.Path, path.Dir(p.Path)
		if n := siblings[dir]; n >= many && dir != "/" {
			name = fmt.Sprintf("%s/* (%d)", dir, n)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func callsFact(trials []Trial) Fact {
	var granted []string
	for _, t := range trials {
		if !t.Refused {
			granted = append(granted, t.Name)
		}
	}
	f := Fact{Name: FactCalls, Value: fmt.Sprintf("%d of %d attempts refused", len(trials)-len(granted), len(trials)), Enforced: len(granted) == 0}
	if len(granted) > 0 {
		f.Deviation = "not refused: " + strings.Join(granted, ", ")
	}
	return f
}
