package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/sandbox"
)

// describe makes the configuration of the sandbox.
func (c *creation) describe() {
	c.Config = jail.Config{
		UID: c.user.uid, GID: c.user.gid, SetGroups: c.user.another,
		Env: c.environment(), Cwd: c.here(c.Spec.Cwd), Ephemeral: c.Spec.Ephemeral, Successor: c.Spec.Successor, Build: c.engine.Build(),
		Beside: &jail.Beside{Name: commandPrefix(c.engine.RunName(c.ID))},
	}
	if limitsProcesses(c.Spec) {
		c.Config.Processes = uint64(c.Spec.Limits.Pids)
	}
	if c.Spec.Ephemeral {
		c.Config.Beside.Scratch = filepath.Join(c.Dir, scratchName)
	}
}

// limitsProcesses says whether the caller asked for a limit. The default is for all
// commands of one sandbox, and here it would count everything that their user runs.
func limitsProcesses(s sandbox.Spec) bool {
	return s.Limits.Pids > 0 && s.Limits.Pids != sandbox.DefaultPids
}

// here is where a directory of a spec is: the workspace and the home that every
// sandbox has are its own directories, everything else is as it stands.
func (c *creation) here(path string) string {
	for name, dir := range map[string]string{sandbox.Workspace: c.workspace(), sandbox.Home: c.home()} {
		if path == name || strings.HasPrefix(path, name+"/") {
			return dir + path[len(name):]
		}
	}
	return path
}

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is what commands outside sessions start with. Of ours they get only
// where programs are found.
func (c *creation) environment() []string {
	env := map[string]string{
		"PATH": usualPath, "HOME": c.home(), "LANG": "C.UTF-8", "USER": c.user.name, "LOGNAME": c.user.name, "SHELL": "/bin/sh",
	}
	if path := os.Getenv("PATH"); path != "" {
		env["PATH"] = path
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		env["SHELL"] = bash
	}
	for name, value := range c.Spec.Env {
		env[name] = value
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}
