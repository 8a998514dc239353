package cli

import (
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/mounts"
	"hermes.example/hermes/sandbox"
)

// givenMounts turns --here and --mount into mounts.
func givenMounts(c config.Config, lookup config.Lookup, here bool, flags []string) ([]sandbox.Mount, error) {
	if !here && len(flags) == 0 {
		return nil, nil
	}
	host, err := mounts.New(c, lookup)
	if err != nil {
		return nil, err
	}
	var list []sandbox.Mount
	if here {
		m, err := mountHere()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	for _, flag := range flags {
		m, err := host.Parse(flag)
		if err != nil {
			return nil, usagef("cannot use --mount %q: %v; write SOURCE:TARGET or SOURCE:TARGET:ro", flag, err)
		}
		list = append(list, m)
	}
	for _, m := range list {
		if err := host.Allowed(m); err != nil {
			return nil, usagef("cannot mount %s: %v", m.Source, err)
		}
	}
	return list, nil
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
