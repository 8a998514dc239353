package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gateway"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/gateway/mcp"
	"hermes.example/hermes/internal/lifeline"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/ready"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

type gatewayRunOptions struct{ noSupervise, replace bool }

// noSupervise is the variable that does what the flag does.
const noSupervise = "HERMES_GATEWAY_NO_SUPERVISE"

func newGatewayRun(a *app) *cobra.Command {
	var o gatewayRunOptions
	cmd := &cobra.Command{
		Use:                   "run [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Serve a profile's gateway, or have the supervisor do so",
		Long: "Where a supervisor runs, as in Hermes' own image, it is asked to keep the profile's gateway up, and this command only\n" +
			"waits until it is ended. Elsewhere, and with --no-supervise, the gateway is served here: GET /health for everybody,\n" +
			"and for who has the key (API_SERVER_KEY) the profile's sandboxes, their files and processes, and its add-ons;\n" +
			"GET /v1/openapi.json describes all routes. There is one gateway a profile. SIGTERM lets requests finish first;\n" +
			"SIGUSR1 does that too and asks to be started again.",
		Example:     "hermes gateway run\nhermes -p coder gateway run --no-supervise\nhermes gateway run --no-supervise --replace",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: serves},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runGateway(cmd.Context(), a, &o)
		},
	}
	cmd.Flags().BoolVar(&o.noSupervise, "no-supervise", false, "serve it here, also where there is a supervisor (or "+noSupervise+"=1)")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "end a gateway of the profile that runs without a supervisor")
	return cmd
}

func runGateway(ctx context.Context, a *app, o *gatewayRunOptions) error {
	notify := ready.Claim(a.lookup)
	ctx, letGo := lifeline.Hold(ctx, a.lookup)
	defer letGo()
	g, err := a.agent()
	if err != nil {
		return settings(err)
	}
	options := gateway.Options{Profile: g.name, Dir: g.dir(), Replace: o.replace, Ready: notify.Tell, Log: a.logger()}
	for _, name := range roster.Sentinels {
		options.Supervised = options.Supervised || config.Switch(a.lookup, name)
	}
	kept := false
	if !options.Supervised {
		here := o.noSupervise || config.Switch(a.lookup, noSupervise)
		if kept, err = a.handOver(ctx, g.name, here); err != nil {
			return cannot("start the gateway", noGateway(g.name, err))
		}
		if kept && !here {
			a.say("the gateway of %q is kept up under s6 supervision, and this command only waits; to serve it here use --no-supervise, or set %s=1", g.name, noSupervise)
			return heartbeat(ctx)
		}
	}
	if !kept { // beside a supervisor, what is written down is what the next boot starts
		options.Records = &profile.Home{Root: g.root}
	}
	return a.serveGateway(ctx, g, options)
}

// handOver asks the supervisor of this machine, if there is one, to keep the gateway up, unless it is to be here.
func (a *app) handOver(ctx context.Context, name string, here bool) (kept bool, err error) {
	err = a.supervised(ctx, func(services control.Operations) error {
		if kept = true; here {
			return nil
		}
		return services.Start(ctx, roster.ServiceName(name))
	})
	if errors.Is(err, survey.ErrNoSupervisor) {
		err = nil
	}
	return kept, err
}

func (a *app) serveGateway(ctx context.Context, g agent, options gateway.Options) error {
	if err := a.notAsRoot("run a gateway"); err != nil {
		return err
	}
	if g.name == profile.Default {
		if err := g.needHome(); err != nil {
			return err
		}
	}
	options.Settings, options.Problem = a.gatewaySettings(g)
	if options.Problem == nil && lacksDoor(g.name, options.Settings) {
		if _, err := giveDoor(&profile.Home{Root: g.root}, g.name); err != nil {
			options.Log.Warn(err.Error())
		}
		options.Settings, options.Problem = a.gatewaySettings(g)
	}
	restart := make(chan struct{}, 1)
	options.Restart = restart
	defer onSignal(syscall.SIGUSR1, func() {
		select {
		case restart <- struct{}{}:
		default: // it is asked already
		}
	})()
	boxes := &profileSandboxes{app: a, agent: g, log: options.Log}
	defer boxes.close()
	if err := boxes.check(); err != nil && options.Problem == nil {
		options.Problem = err
	}
	options.Sandboxes = func() (api.Sandboxes, error) { return boxes.open() }
	addons := &profileAddons{app: a, agent: g, log: options.Log}
	defer addons.close()
	options.Addons = func() (api.Addons, error) { return addons.open() }
	options.MCP = mcp.Lazily((&gatewayMCP{sandboxes: boxes, addons: addons}).open)
	a.drains.Store(true)
	err := gateway.Run(ctx, options)
	if isA[*gateway.ConfigError](err) {
		return settings(err)
	}
	return err
}

// onSignal calls do for each signal until the returned function is called.
func onSignal(s os.Signal, do func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, s)
	go func() {
		defer close(done)
		for range signals {
			do()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}

// heartbeat waits until this command is ended: a container whose main program it is lives as long. It becomes "sleep",
// which needs less memory than this program, or waits itself where there is none.
func heartbeat(ctx context.Context) error {
	if sleep, err := exec.LookPath("sleep"); err == nil {
		syscall.Exec(sleep, []string{"sleep", "infinity"}, os.Environ()) // it does not return unless it fails
	}
	<-ctx.Done()
	return end(sandbox.Result{Code: 128 + int(syscall.SIGTERM)})
}
