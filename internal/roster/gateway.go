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

// Sentinels are the variables that tell "gateway run" that it is the one that is supervised, and not to ask for
// another. The first is what the old image called it.
var Sentinels = []string{"HERMES_S6_SUPERVISED_CHILD", "HERMES_SUPERVISED_CHILD"}

// Announced is how our own servers become ready: they say on a descriptor that they listen, and may take so long for
// it.
var Announced = supervise.Readiness{Notify: 3, Within: 90 * time.Second}

// Gateway is the service of a profile's gateway: the program by its own path, because the name on PATH is for people,
// in the home of all profiles and with an environment that the caller chose.
func Gateway(program, root, name string, env []string) supervise.Service {
	argv := []string{program}
	if name != profile.Default {
		argv = append(argv, "-p", name)
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "HERMES_HOME=") })
	env = append(env, "HERMES_HOME="+root)
	for _, sentinel := range Sentinels {
		env = append(env, sentinel+"=1")
	}
	return supervise.Service{
		Name:  ServiceName(name),
		Argv:  append(argv, "gateway", "run", "--replace"),
		Env:   env,
		Dir:   root,
		Log:   filepath.Join(root, "logs", "gateways", name),
		Ready: Announced,
	}
}
