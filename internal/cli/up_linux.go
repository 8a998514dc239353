package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/lifeline"
	"hermes.example/hermes/internal/ready"
	"hermes.example/hermes/internal/upkeep"
)

type upOptions struct {
	host, port    string
	verbose, json bool
}

func newUp(a *app) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:                   "up [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Run the whole home on this machine: gateways, dashboard, sandboxes",
		Long: "Runs all of this home, without a container, until it is asked to end: the dashboard, the gateway of the default\n" +
			"profile, and those of other profiles that their owners left running. A home that is not there is made. It prints\n" +
			"where to look: the dashboard's address, which logs in once, and the gateway's. From another terminal \"hermes status\",\n" +
			"\"hermes gateway\" and \"hermes service\" look at it and drive it; a service that cannot be started is told of, and keeps\n" +
			"none of the others from running.\n\n" +
			"Ctrl-C ends all that was started, in order: services, and the sandboxes that they made, whose files stay. A second one\n" +
			"kills. As root, the services run as the user " + serviceAccount + " if there is one, in that user's home; with " + allowRoot + "=1\n" +
			"they run as root.",
		Example:     "hermes up\nhermes up --port 9200\nhermes up --json",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: serves},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runUp(cmd.Context(), a, &o, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "`ADDRESS` of the dashboard (default HERMES_DASHBOARD_HOST, else "+config.LoopbackHost+")")
	f.StringVar(&o.port, "port", "", fmt.Sprintf("`PORT` of the dashboard; 0 is any that is free (default HERMES_DASHBOARD_PORT, else %d)", config.DefaultDashboardPort))
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show what the services say, which is in their logs otherwise")
	f.BoolVar(&o.json, "json", false, "print the addresses as one JSON object once all is there")
	return cmd
}

// endGrace is what all services have to end in.
const endGrace = 10 * time.Second

func runUp(ctx context.Context, a *app, o *upOptions, given func(string) bool) error {
	if a.profile != "" {
		return usagef("cannot use --profile: up runs the whole home; \"hermes -p %s gateway start\" adds a profile's gateway", a.profile)
	}
	var dashboard []string
	if given("host") {
		dashboard = append(dashboard, "--host", o.host)
	}
	if given("port") {
		if _, err := strconv.ParseUint(o.port, 10, 16); err != nil {
			return usagef("cannot use --port %q: give one from 1 to 65535, or 0 for any that is free", o.port)
		}
		dashboard = append(dashboard, "--port", o.port)
	}
	if err := a.stepDown(); err != nil {
		return err
	}
	g, err := a.agent()
	if err != nil {
		return settings(err)
	}
	if err := g.needHome(); err != nil {
		return unfit(g.root, err)
	}
	keyless := a.giveKey(g.root)
	program, err := programPath()
	if err != nil {
		return err
	}
	a.drains.Store(true) // a second signal hurries the end, and is not the end itself
	options := upkeep.Options{
		Home: g.root, Program: program, Env: serviceEnvironment(os.Environ()), Dashboard: dashboard,
		Multiplex: a.multiplexes(g), Root: os.Geteuid() == 0, Output: io.Discard, Log: slog.New(slog.DiscardHandler),
	}
	if o.verbose {
		options.Output, options.Log = a.stderr, a.logger()
	}
	u, err := upkeep.Start(ctx, options)
	switch {
	case isA[*lease.HeldError](err):
		return settings(err)
	case isA[*upkeep.HomeError](err):
		return unfit(g.root, err)
	case err != nil:
		return cannot("run this home", err)
	}
	w := &upWatch{app: a, root: g.root, services: u.Services(), json: o.json, keyless: keyless}
	watched := w.watch(ctx)
	if watched == nil {
		a.say("stopping; once more kills")
	}
	if err := a.bringDown(u); err != nil {
		return err
	}
	return watched
}

// bringDown ends all of it, within its time and before a second signal: then by force.
func (a *app) bringDown(u *upkeep.Upkeep) error {
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			defer onSignal(s, cancel)()
		}
	}
	return u.Stop(ctx)
}

// multiplexes says whether the default gateway serves all profiles. Settings that cannot be read are the gateway's to
// complain of.
func (a *app) multiplexes(g agent) bool {
	lookup, _, err := config.WithEnvFile(g.lookup)
	if err != nil {
		return false
	}
	on, _ := config.MultiplexProfiles(lookup)
	return on
}

// programPath is this program as services are started: by its path, which people know, or where those rights do not
// reach there by the kernel's name for it.
func programPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", cannot("find this program", err)
	}
	if unix.Access(path, unix.X_OK) != nil {
		return "/proc/self/exe", nil
	}
	return path, nil
}

// serviceEnvironment leaves out what is between this process and whoever started it.
func serviceEnvironment(environ []string) []string {
	own := []string{ready.Variable, lifeline.Variable, ready.SystemdVariable}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
}
