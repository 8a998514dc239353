package cli

import (
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// mounts turns --here and --mount into mounts.
func mounts(c config.Config, lookup config.Lookup, here bool, flags []string) ([]sandbox.Mount, error) {
	var list []sandbox.Mount
	if here {
		m, err := mountHere()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	for _, flag := range flags {
		m, err := parseMount(lookup, flag)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, nil
	}
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if err := guard(m, c, run); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// guard refuses mounts through which a sandbox could write what Hermes believes
// about its sandboxes, or reach the sockets of the others, for which a read-only
// mount is enough.
func guard(m sandbox.Mount, c config.Config, run string) error {
	if within(run, m.Source) || within(m.Source, run) {
		return usagef("cannot mount %s: the sockets of all sandboxes are in %s; mount a directory without it", m.Source, run)
	}
	if m.ReadOnly {
		return nil
	}
	for _, own := range []string{c.Home, c.SandboxRoot} {
		if within(own, m.Source) {
			return usagef("cannot mount %s: Hermes keeps its own files in %s; mount another directory, or mount it read-only", m.Source, own)
		}
	}
	if within(m.Source, c.SandboxRoot) {
		return usagef("cannot mount %s: it belongs to a sandbox; mount another directory, or mount it read-only", m.Source)
	}
	return nil
}

// mountHere is the current directory as the sandbox's workspace.
func mountHere() (sandbox.Mount, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return sandbox.Mount{}, cannot("use --here", err)
	}
	if filepath.Dir(dir) == dir {
		return sandbox.Mount{}, usagef("cannot use --here in %s: that is the whole machine; go into a directory of your own", dir)
	}
	return sandbox.Mount{Source: dir, Target: sandbox.Workspace}, nil
}

// parseMount reads SOURCE:TARGET[:ro].
func parseMount(lookup config.Lookup, flag string) (sandbox.Mount, error) {
	m := sandbox.Mount{}
	bad := func(why string) (sandbox.Mount, error) {
		return m, usagef("cannot use --mount %q: %s; write SOURCE:TARGET or SOURCE:TARGET:ro", flag, why)
	}
	if looksLikeWindows(flag) {
		return bad("Windows paths do not exist in a sandbox of this system")
	}
	parts := strings.Split(flag, ":")
	if len(parts) == 3 {
		switch parts[2] {
		case "ro":
			m.ReadOnly = true
		case "rw":
		default:
			return bad("its last part is neither \"ro\" nor \"rw\"")
		}
		parts = parts[:2]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return bad("it does not have a source and a target")
	}
	source, err := config.ExpandHome(lookup, parts[0])
	if err == nil {
		source, err = filepath.Abs(source)
	}
	if err != nil {
		return bad(err.Error())
	}
	m.Source, m.Target = resolve(source), parts[1]
	return m, nil
}

// looksLikeWindows finds drive letters and backslashes where a colon separates
// source and target here.
func looksLikeWindows(flag string) bool {
	parts := strings.Split(flag, ":")
	drive := len(parts) > 2 && len(parts[0]) == 1 && parts[2] != "ro" && parts[2] != "rw"
	return drive || strings.HasPrefix(flag, `\\`) || strings.Contains(flag, `:\`)
}

// within says whether path is dir or below it, links followed.
func within(path, dir string) bool {
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolve follows the links of as much of a path as exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
