package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type writeOptions struct {
	processOptions
	close bool
}

func newWrite(a *app) *cobra.Command {
	var o writeOptions
	cmd := &cobra.Command{
		Use:                   "write [FLAG…] PROCESS",
		DisableFlagsInUseLine: true,
		Short:                 "Write to the standard input of a background process",
		Long: "Writes standard input to that of a background process which was started with --input, and returns when all of it was\n" +
			"taken. PROCESS is an id, the beginning of one, or a name.",
		Example: "echo status | hermes sandbox write --task web server\n" +
			"cat data.csv | hermes sandbox write --task web --close import   # and the input ends",
		Args:              needProcesses(1),
		ValidArgsFunction: o.completeProcesses(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return runWrite(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	cmd.Flags().BoolVar(&o.close, "close", false, "end the process's input afterwards")
	return cmd
}

func runWrite(ctx context.Context, a *app, o *writeOptions, args []string) error {
	return o.among(ctx, a, "write to the process", args, func(found []*sandbox.Process) error {
		written := make(chan error, 1)
		go func() { // ends with the process at the latest: nothing else can end a read
			_, err := io.Copy(input{ctx, found[0]}, a.stdin)
			written <- err
		}()
		var err error
		select {
		case err = <-written:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return cannot("write to the process", err)
		}
		if o.close {
			return found[0].CloseInput(ctx)
		}
		return nil
	})
}

// input is the standard input of a process as a writer.
type input struct {
	ctx context.Context
	*sandbox.Process
}

func (i input) Write(p []byte) (int, error) { return i.Process.Write(i.ctx, p) }
