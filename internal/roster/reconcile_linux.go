package roster

import (
	"context"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/profile"
)

// Boot is what a reconciliation depends on besides the volume.
type Boot struct {
	// Command is what the machine was asked to run, without its entrypoint.
	Command []string
	// NoSupervise is the operator's word that "gateway run" stays in the foreground (HERMES_GATEWAY_NO_SUPERVISE).
	NoSupervise bool
	// Multiplex makes the default gateway speak for all profiles: those that have a name are not started.
	Multiplex bool
}

// Outcome is what became of a profile's gateway at boot.
type Outcome struct {
	profile.Audit
	// Err is why it could not even be registered. The others are not affected.
	Err error
}

// Reconcile registers the gateway of every profile and starts those that their owners had left running: the default
// one first, then by name. Nothing that it finds on the volume can make it fail as a whole.
func (r *Roster) Reconcile(ctx context.Context, b Boot) []Outcome {
	command := b.command()
	r.mu.Lock()
	r.multiplex, r.idle = b.Multiplex, first(command) == "dashboard"
	idle := r.idle
	r.mu.Unlock()
	if idle {
		r.log.Info("skipping the gateways: this container is a dashboard's")
		return nil
	}
	if runsGateway(command) && !b.NoSupervise {
		r.migrate()
	}
	outcomes := []Outcome{r.restore(ctx, profile.Default)}
	for _, name := range r.profiles() {
		outcomes = append(outcomes, r.restore(ctx, name))
	}
	// When the first line is there, all are registered: that is what scripts wait for.
	for _, o := range outcomes {
		if o.Err == nil {
			r.audit(o.Audit)
		}
	}
	return outcomes
}

// command is what hermes is asked to do, be it named or not.
func (b Boot) command() []string {
	if filepath.Base(first(b.Command)) == "hermes" {
		return b.Command[1:]
	}
	return b.Command
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// runsGateway says whether the command is the way in which containers ran the gateway before it was supervised.
func runsGateway(command []string) bool {
	return len(command) >= 2 && command[0] == "gateway" && command[1] == "run" && !slices.Contains(command, "--no-supervise")
}

// migrate writes down, on a volume on which nothing is, that who runs "gateway run" wants the default gateway up.
func (r *Roster) migrate() {
	state, warning := r.home.State(profile.Default)
	if state.Found || warning != nil {
		return
	}
	if err := r.home.Adopt(profile.Default); err != nil {
		r.log.Warn("the gateway will not come back by itself", "profile", profile.Default, "why", err)
	}
}

func (r *Roster) profiles() []string {
	names, odd, err := r.home.List()
	if err != nil {
		r.log.Warn("the gateways of named profiles stay unknown", "why", err)
	}
	for _, sentence := range odd {
		r.log.Warn(sentence)
	}
	return names
}

// restore registers a profile's gateway as its owner left it.
func (r *Roster) restore(ctx context.Context, name string) Outcome {
	defer r.lock(name)()
	state, up := r.intent(name)
	o := Outcome{Audit: profile.Audit{Profile: name, Prior: state.Text(), Started: up, Exit: profile.ExitUnknown}}
	left, err := r.home.ClearStale(name)
	switch {
	case err != nil:
		r.log.Warn("a gateway may take another process for its predecessor", "profile", name, "why", err)
	case left:
		o.Exit = profile.ExitUnclean
	case state.Found:
		o.Exit = profile.ExitClean
	}
	if o.Err = r.driver.Replace(ctx, r.service(name), up); o.Err != nil {
		r.log.Error("a gateway cannot be registered", "profile", name, "why", o.Err)
	}
	return o
}

// intent is a profile's state and whether its gateway is to run.
func (r *Roster) intent(name string) (state profile.State, up bool) {
	state, warning := r.home.State(name)
	if warning != nil {
		r.log.Warn("the gateway is not started: what was wanted of it is not known", "profile", name, "why", warning)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return state, state.Autostart() && (name == profile.Default || !r.multiplex)
}

func (r *Roster) audit(a profile.Audit) {
	if err := r.home.Audit(a); err != nil {
		r.log.Warn("the log of boots lacks a line", "profile", a.Profile, "why", err)
	}
}
