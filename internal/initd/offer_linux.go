package initd

import (
	"hermes.example/hermes/internal/boot"
	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
)

// Where the dashboard listens if nobody says otherwise.
const (
	dashboardHost = "127.0.0.1"
	dashboardPort = "9119"
)

// offer is what can be kept running in this container: nothing else ever is, whoever asks.
type offer struct{ result *boot.Result }

// gateway is that of a profile.
func (o offer) gateway(name string) supervise.Service {
	s := roster.Gateway(entry.Program, o.result.RootHome, name, o.result.Environ())
	s.User = o.result.Service()
	return s
}

func (o offer) dashboard() supervise.Service {
	env := o.result.Environ()
	s := o.service([]string{entry.Program, "dashboard",
		"--host", or(lookup(env, "HERMES_DASHBOARD_HOST"), dashboardHost),
		"--port", or(lookup(env, "HERMES_DASHBOARD_PORT"), dashboardPort), "--no-open"})
	s.Name, s.Ready = "dashboard", roster.Announced
	return s
}

// foreign is a service that the image brings for another supervisor.
func (o offer) foreign(f boot.Foreign) supervise.Service {
	s := o.service([]string{f.Run})
	s.Name, s.Dir = f.Name, f.Dir
	return s
}

// service is what all have: the service user, one environment, and the home as the place where they start.
func (o offer) service(argv []string) supervise.Service {
	return supervise.Service{Argv: argv, Env: o.result.Environ(), Dir: o.result.RootHome, User: o.result.Service()}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
