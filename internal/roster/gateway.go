package roster

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
)

// prefix is how the names of gateways begin.
const prefix = "gateway-"

// ServiceName is the name of a profile's gateway among the services.
func ServiceName(profile string) string { return prefix + profile }

// ProfileOf is the profile whose gateway a service is.
func ProfileOf(service string) (name string, is bool) { return strings.CutPrefix(service, prefix) }

// sentinels tell "gateway run" that it is the one that is supervised, and not to ask for another. The first is what
// the old image called it.
var sentinels = []string{"HERMES_S6_SUPERVISED_CHILD=1", "HERMES_SUPERVISED_CHILD=1"}

// A gateway says on this descriptor that it listens, and may take so long for it.
const (
	notify      = 3
	readyWithin = 90 * time.Second
)

// Gateway is the service of a profile's gateway: the program by its own path, because the name on PATH is for people,
// in the home of all profiles and with an environment that the caller chose.
func Gateway(program, root, name string, env []string) supervise.Service {
	argv := []string{program}
	if name != profile.Default {
		argv = append(argv, "-p", name)
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "HERMES_HOME=") })
	return supervise.Service{
		Name:  ServiceName(name),
		Argv:  append(argv, "gateway", "run", "--replace"),
		Env:   append(append(env, "HERMES_HOME="+root), sentinels...),
		Dir:   root,
		Log:   filepath.Join(root, "logs", "gateways", name),
		Ready: supervise.Readiness{Notify: notify, Within: readyWithin},
	}
}
