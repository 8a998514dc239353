package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

func newCat(a *app) *cobra.Command {
	var o target
	cmd := &cobra.Command{
		Use:                   "cat [FLAG…] PATH…",
		DisableFlagsInUseLine: true,
		Short:                 "Print files of a sandbox",
		Long: "Prints files of the sandbox, one after the other, with the rights of its commands. A path that does not begin\n" +
			"with a slash lies where commands run. Only files are printed: no devices, no pipes, nothing of /proc.",
		Example: "hermes sandbox cat --task build log.txt\n" +
			"hermes sandbox cat /etc/os-release /etc/hosts",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("cannot print nothing: name a file; see %q", cmd.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCat(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	return cmd
}

func runCat(ctx context.Context, a *app, o *target, paths []string) error {
	return o.files(ctx, a, "print files", func(files sandbox.Files) error {
		for _, p := range paths {
			if err := catOne(ctx, a.stdout, files, insidePath(p)); err != nil {
				return err
			}
		}
		return nil
	})
}

func catOne(ctx context.Context, to io.Writer, files sandbox.Files, path string) error {
	r, err := files.Open(ctx, path, sandbox.Section{})
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, r, make([]byte, copyBuffer))
	return err
}

// copyBuffer is how much is passed on at a time.
const copyBuffer = 256 << 10
