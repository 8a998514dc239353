package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

// verb is something to be asked of a service, with the words for it.
type verb struct {
	name, done string
	ask        func(services control.Operations, ctx context.Context, service string) error
}

var (
	toStart   = verb{"start", "started", control.Operations.Start}
	toStop    = verb{"stop", "stopped", control.Operations.Stop}
	toRestart = verb{"restart", "restarted", control.Operations.Restart}
)

// verbOptions are the flags of commands that ask something of services.
type verbOptions struct {
	wait string
	json bool
	all  bool
}

func (o *verbOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.wait, "wait", "10s", "`TIME` to wait until it is as wanted: seconds, 90s, 5m; 0 waits for nothing")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON: what became of each")
}

// apply asks something of services, of all of them before it waits for any, and returns what became of each within the
// time. One that is still on its way then is no error; one that was to come up and is parked is.
func (v verb) apply(ctx context.Context, services control.Operations, names []string, wait time.Duration) (map[string]supervise.Status, map[string]error) {
	statuses, failures := map[string]supervise.Status{}, map[string]error{}
	for _, name := range names {
		if err := v.ask(services, ctx, name); err != nil {
			failures[name] = err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, name := range names {
		if failures[name] != nil {
			continue
		}
		status, err := services.Wait(waiting, name)
		if err != nil && ctx.Err() == nil && waiting.Err() != nil {
			status, err = services.Service(ctx, name)
		}
		if err == nil && status.State == supervise.Parked && v.name != toStop.name {
			err = fmt.Errorf("it is parked: %s", status.Reason)
		}
		if err != nil {
			failures[name] = err
			continue
		}
		statuses[name] = status
	}
	return statuses, failures
}

// runGateways asks something of the gateway of the profile that is meant, or of all gateways.
func runGateways(ctx context.Context, a *app, v verb, o *verbOptions) error {
	wait, err := parseTimeout("--wait", o.wait)
	if err != nil {
		return err
	}
	_, name, err := a.home()
	if err != nil {
		return err
	}
	return a.supervised(ctx, func(services control.Operations) error {
		names := []string{roster.ServiceName(name)}
		if o.all {
			if names, err = gateways(ctx, services); err != nil {
				return cannot("list the gateways", err)
			}
		}
		statuses, failed := v.apply(ctx, services, names, wait)
		rows := []gatewayRow{}
		var failures []error
		for _, service := range names {
			name, _ := roster.ProfileOf(service)
			if err := failed[service]; err != nil {
				failures = append(failures, cannot(fmt.Sprintf("%s the gateway of %q", v.name, name), noGateway(name, err)))
				continue
			}
			rows = append(rows, gatewayRow{name, statuses[service]})
		}
		if err := o.report(a, v, rows, len(names)); err != nil {
			return cannot("write the answer", err)
		}
		if o.all && len(failures) > 0 {
			return fmt.Errorf("cannot %s %d of %s: %w", v.name, len(failures), plural(len(names), "gateway", "gateways"), errors.Join(failures...))
		}
		return errors.Join(failures...)
	})
}

// report prints what became of gateways, of which there were so many.
func (o *verbOptions) report(a *app, v verb, rows []gatewayRow, asked int) error {
	if o.json {
		return writeJSON(a.stdout, rows)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(a.stdout, "%s %s: %s\n", v.done, row.Profile, survey.Sentence(row.Status, time.Now())); err != nil {
			return err
		}
	}
	if !o.all {
		return nil
	}
	text := v.done + " " + plural(len(rows), "gateway", "gateways")
	if asked == 0 {
		text = "no gateway is registered"
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// runServices asks something of services by their names.
func runServices(ctx context.Context, a *app, v verb, o *verbOptions, names []string) error {
	wait, err := parseTimeout("--wait", o.wait)
	if err != nil {
		return err
	}
	return a.supervised(ctx, func(services control.Operations) error {
		found, failed := v.apply(ctx, services, names, wait)
		statuses := []supervise.Status{}
		var failures []error
		for _, name := range names {
			if err := failed[name]; err != nil {
				failures = append(failures, noService(v.name, name, err))
				continue
			}
			statuses = append(statuses, found[name])
			if !o.json {
				if _, err := fmt.Fprintf(a.stdout, "%s %s: %s\n", v.done, name, survey.Sentence(found[name], time.Now())); err != nil {
					return cannot("write the answer", err)
				}
			}
		}
		if o.json {
			failures = append(failures, cannot("write the answer", writeJSON(a.stdout, statuses)))
		}
		return errors.Join(failures...)
	})
}

// noService says of a service that is not there where to look for those that are.
func noService(what, name string, err error) error {
	if errors.Is(err, supervise.ErrNotRegistered) {
		return fmt.Errorf("cannot %s %q: there is no such service; %q lists those that there are", what, name, "hermes service ls")
	}
	return cannot(what+" "+name, err)
}

// gatewayRow is one gateway as it is printed.
type gatewayRow struct {
	Profile string `json:"profile"`
	supervise.Status
}

// gateways are the services that are one, that of the default profile first.
func gateways(ctx context.Context, services control.Operations) (names []string, err error) {
	rows, err := gatewayRows(ctx, services)
	for _, row := range rows {
		names = append(names, row.Name)
	}
	return names, err
}

func gatewayRows(ctx context.Context, services control.Operations) ([]gatewayRow, error) {
	all, err := services.Services(ctx)
	rows := []gatewayRow{} // a list, also when it is empty
	for _, status := range all {
		if name, is := roster.ProfileOf(status.Name); is && name == profile.Default {
			rows = append([]gatewayRow{{name, status}}, rows...)
		} else if is {
			rows = append(rows, gatewayRow{name, status})
		}
	}
	return rows, err
}
