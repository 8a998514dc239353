package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

// execOptions are those of "hermes sandbox exec", and of "hermes run", which is
// the same with a task of its own.
type execOptions struct {
	target
	commandOptions
	spec specOptions
}

func newExec(a *app) *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:                   "exec [FLAG…] [-c LINE | -- PROGRAM ARGUMENT…]",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command in a sandbox",
		Long: "Runs a command in the sandbox of a task. A sandbox that does not exist is made; one that exists is taken as it is.\n" +
			"With flags about the sandbox itself (--here, --mount, --user, --memory, --cpus, --pids, --network, --require,\n" +
			"--ephemeral) one that differs is made anew when nobody uses it, and otherwise refused with the difference.\n" +
			"It also sees what the configuration mounts: volumes, and read-only the credentials, skills and caches of the home.\n" +
			"Standard output and standard error stay apart, and the exit status is the command's.",
		Example: "hermes sandbox exec --task build -- make -j2\n" +
			"hermes sandbox exec --session s1 -c 'cd /tmp; export COLOUR=green'   # kept for the next command of s1\n" +
			"hermes sandbox exec --task build --mount ~/src:/src:ro --env CI=1 --timeout 5m -- ls /src\n" +
			"echo hello | hermes sandbox exec -i --json -- cat",
		Annotations: map[string]string{kindAnnotation: "yes"},
		RunE:        func(cmd *cobra.Command, args []string) error { return runExec(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	o.addSession(cmd, "run in the session `NAME`, which keeps directory, variables, functions and aliases")
	o.addFlags(cmd)
	o.addCommandFlags(cmd)
	o.spec.addFlags(cmd)
	o.spec.addEphemeral(cmd)
	return cmd
}

func runExec(ctx context.Context, a *app, o *execOptions, argv []string) error {
	c, err := a.terminal()
	if err != nil {
		return err
	}
	command, err := o.command(a, c, argv)
	if err != nil {
		return err
	}
	return o.inside(ctx, a, c, "run the command", func(box *sandbox.Sandbox, forwarded forward.Values) error {
		command.Env = forwarded.Under(command.Env)
		return o.run(ctx, a, box, command)
	})
}

// inside calls f with the sandbox that the options mean, and with what its commands
// get of the caller's variables, and gives it up.
func (o *execOptions) inside(ctx context.Context, a *app, c config.Config, what string, f func(*sandbox.Sandbox, forward.Values) error) error {
	var spec *sandbox.Spec
	if o.spec.ephemeral || o.spec.given() {
		var err error
		if spec, err = o.spec.spec(a, c); err != nil {
			return err
		}
	}
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	if spec != nil && !o.spec.said("ephemeral") {
		spec.Ephemeral = spec.Ephemeral || !boxes.KeepsFiles()
	}
	if spec != nil && boxes.Containers() {
		o.spec.choose(spec)
	}
	box, err := boxes.Obtain(ctx, o.task, spec)
	if err != nil {
		return cannot(what, err)
	}
	forwarded, err := boxes.Forwarded()
	if err != nil {
		return err
	}
	return f(box, forwarded)
}
