package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type waitOptions struct {
	processOptions
	json bool
}

func newWait(a *app) *cobra.Command {
	var o waitOptions
	cmd := &cobra.Command{
		Use:                   "wait [FLAG…] PROCESS…",
		DisableFlagsInUseLine: true,
		Short:                 "Wait for background processes to end",
		Long: "Waits until all the processes have ended. PROCESS is an id, the beginning of one, or a name. The exit status is that of\n" +
			"the last one named, as with the shell's wait. An interrupt ends the wait and not the process.",
		Example:           "hermes sandbox wait --task build tests\nhermes sandbox wait --task build --json lint tests",
		Annotations:       map[string]string{kindAnnotation: "yes"},
		Args:              needProcesses(manyProcesses),
		ValidArgsFunction: o.completeProcesses(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return runWait(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array of how they ended")
	return cmd
}

func runWait(ctx context.Context, a *app, o *waitOptions, args []string) error {
	return o.among(ctx, a, "wait for the process", args, func(found []*sandbox.Process) error {
		results := make([]sandbox.Result, len(found))
		for i, p := range found {
			var err error
			if results[i], err = p.Wait(ctx); err != nil {
				return err
			}
		}
		last := results[len(results)-1]
		if o.json {
			if err := writeJSON(a.stdout, results); err != nil {
				return cannot("write the answer", err)
			}
			return end(last)
		}
		a.remark(last)
		return end(last)
	})
}
