package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/supervise/logdir"
	"hermes.example/hermes/internal/survey"
)

// serviceLogOptions are the flags of commands that print what a service said.
type serviceLogOptions struct {
	follow bool
	tail   int
}

func (o *serviceLogOptions) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what is said from now on")
	cmd.Flags().IntVar(&o.tail, "tail", -1, "print only the last `N` lines; without it all that is kept")
	cmd.Flag("tail").DefValue = "0" // the help is silent about it
}

func newGatewayLogs(a *app) *cobra.Command {
	var o serviceLogOptions
	cmd := &cobra.Command{
		Use:                   "logs [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Print what the gateway of a profile said",
		Long: "Prints what the gateway of the profile that is meant said, each line with its time. The log is kept over restarts, and\n" +
			"can be read without a supervisor, too.",
		Example: "hermes gateway logs --tail 100\nhermes -p coder gateway logs -f",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGatewayLogs(cmd.Context(), a, &o) },
	}
	o.add(cmd)
	return cmd
}

func runGatewayLogs(ctx context.Context, a *app, o *serviceLogOptions) error {
	home, name, err := a.home()
	if err != nil {
		return err
	}
	err = a.supervised(ctx, func(services control.Operations) error {
		log, err := services.Log(ctx, roster.ServiceName(name), o.tail, o.follow)
		return o.print(ctx, a, log, noGateway(name, err))
	})
	if errors.Is(err, survey.ErrNoSupervisor) {
		place := logdir.Place{Dir: filepath.Join(home.Root, "logs", "gateways", name), Volume: home.Root}
		log, readErr := place.Read(ctx, o.tail, o.follow)
		err = o.print(ctx, a, log, readErr)
	}
	return cannot("show what the gateway said", err)
}

// print copies a log that was opened, and closes it.
func (o *serviceLogOptions) print(ctx context.Context, a *app, log io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err = io.Copy(a.stdout, log); err == nil {
		err = ctx.Err() // who follows a log never comes to its end
	}
	return err
}
