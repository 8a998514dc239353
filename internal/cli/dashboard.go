package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/dashboard"
	"hermes.example/hermes/internal/dashboard/doorbell"
	"hermes.example/hermes/internal/dashboard/web"
	"hermes.example/hermes/internal/lifeline"
	"hermes.example/hermes/internal/ready"
)

type dashboardOptions struct {
	host, port       string
	noOpen, insecure bool
}

func newDashboard(a *app) *cobra.Command {
	var o dashboardOptions
	cmd := &cobra.Command{
		Use:                   "dashboard [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Serve the dashboard of this home",
		Long: "Serves the dashboard until it is asked to end, and prints the address to open. On loopback without a name and a\n" +
			"password (HERMES_DASHBOARD_BASIC_AUTH_USERNAME, HERMES_DASHBOARD_BASIC_AUTH_PASSWORD) that address logs in, once;\n" +
			"where a supervisor keeps the dashboard it is not printed, since that would be in a log: \"hermes dashboard url\" has it.\n" +
			"Beyond loopback there must be a login. Root is refused without " + allowRoot + "=1: pages run commands.\n" +
			"\"hermes up\" runs the dashboard with all else of this home.",
		Example:     "hermes dashboard\nhermes dashboard --port 9200\nhermes dashboard --host 0.0.0.0 --no-open",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: serves},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDashboard(cmd.Context(), a, &o, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "`ADDRESS` to listen on (default HERMES_DASHBOARD_HOST, else "+config.LoopbackHost+")")
	f.StringVar(&o.port, "port", "", fmt.Sprintf("`PORT` to listen on; 0 is any that is free (default HERMES_DASHBOARD_PORT, else %d)", config.DefaultDashboardPort))
	f.BoolVar(&o.noOpen, "no-open", false, "open no browser, which is never done")
	f.BoolVar(&o.insecure, "insecure", false, "has no effect any more")
	cmd.Flag("insecure").Hidden = true
	cmd.AddCommand(newDashboardURL(a))
	return cmd
}

func runDashboard(ctx context.Context, a *app, o *dashboardOptions, given func(string) bool) error {
	notify := ready.Claim(a.lookup)
	ctx, letGo := lifeline.Hold(ctx, a.lookup)
	defer letGo()
	g, err := a.agent()
	if err != nil {
		return settings(err)
	}
	s, err := a.dashboardSettings()
	if err != nil {
		return settings(err)
	}
	if given("host") {
		s.Host = o.host
	}
	if given("port") {
		port, err := strconv.ParseUint(o.port, 10, 16)
		if err != nil { // not wrong usage: a supervisor hands on what a variable says, and must not try again
			return settings(fmt.Errorf("cannot use --port %q: give one from 1 to 65535, or 0 for any that is free", o.port))
		}
		s.Port = int(port)
	}
	s.Insecure = s.Insecure || o.insecure
	a.drains.Store(true)
	log := a.logger()
	bell, err := doorbell.Hang(g.root)
	if err != nil {
		log.Warn(err.Error())
	}
	defer bell.Close()
	home := a.newHouse(g, log)
	defer home.Close()
	d, err := dashboard.New(dashboard.Options{Settings: s, Log: log, House: home, Drain: home.Drain, Pages: web.Handler(), Bell: bell})
	if err != nil {
		return settings(err)
	}
	if err := a.notAsRoot("run the dashboard"); err != nil { // the last: what is wrong for everybody is said first
		return err
	}
	return d.Serve(ctx, func(open string) {
		if notify != nil || a.journaled() { // what a service prints is kept in a log: an address that logs in is not for that
			open = withoutTicket(open)
		}
		fmt.Fprintln(a.stdout, open)
		notify.Tell()
	})
}

// withoutTicket is an address of the dashboard without what logs in.
func withoutTicket(open string) string {
	u, err := url.Parse(open)
	if err != nil || u.RawQuery == "" {
		return open
	}
	u.Path, u.RawQuery = "/", ""
	return u.String()
}

func (a *app) dashboardSettings() (config.Dashboard, error) {
	g, err := a.agent()
	if err != nil {
		return config.Dashboard{}, err
	}
	lookup, err := a.settled(g)
	if err != nil {
		return config.Dashboard{}, err
	}
	c, err := config.Load(lookup)
	if err != nil {
		return config.Dashboard{}, err
	}
	return c.Dashboard()
}

// logger is where servers say what happens: on standard error, a line each.
func (a *app) logger() *slog.Logger { return slog.New(slog.NewTextHandler(a.stderr, nil)) }
