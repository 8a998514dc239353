package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

func newShell(a *app) *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:                   "shell [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Open a shell in a sandbox",
		Long: "Opens a login shell in the sandbox of a task, on this terminal. A sandbox that does not exist is made.\n" +
			"The exit status is the shell's. The sandbox lives on when the shell ends, unless it is --ephemeral.",
		Example: "hermes sandbox shell --task build\n" +
			"hermes sandbox shell --task try --here --ephemeral\n" +
			"hermes sandbox shell --task build --cwd /tmp --env EDITOR",
		Annotations: map[string]string{kindAnnotation: "yes"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runShell(cmd.Context(), a, &o) },
	}
	o.addTarget(a, cmd)
	o.addFlags(cmd)
	o.spec.addFlags(cmd)
	o.spec.addEphemeral(cmd)
	return cmd
}

func runShell(ctx context.Context, a *app, o *execOptions) error {
	if !isTerminal(a.stdin) {
		return usagef("cannot open a shell: standard input is not a terminal; use %q", "hermes sandbox exec")
	}
	c, err := a.terminal()
	if err != nil {
		return err
	}
	env, err := environment(a.lookup, o.envFiles, o.env)
	if err != nil {
		return err
	}
	return o.inside(ctx, a, c, "open a shell", func(box *sandbox.Sandbox, forwarded forward.Values) error {
		shell := a.onTerminal(box.Shell, true)
		result, err := shell(ctx, sandbox.Command{Env: forwarded.Under(env), Cwd: o.cwd, Stdin: a.stdin, Stdout: a.stdout})
		if err != nil {
			return cannot("open a shell", err)
		}
		a.remark(result)
		return end(result)
	})
}
