package cli

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/spf13/cobra"
)

func newRun(a *app) *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:                   "run [FLAG…] [-c LINE | -- PROGRAM ARGUMENT…]",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command in a sandbox of its own that is gone afterwards",
		Long: "Makes a new sandbox, runs one command in it, and removes it with all that it held.\n" +
			"It sees the system's programs, an empty home and workspace, and what is mounted; it has no network.\n" +
			"Standard output and standard error stay apart, and the exit status is the command's.",
		Example: "hermes run -- uname -a\n" +
			"hermes run --here -- make test               # with the current directory as workspace\n" +
			"hermes run --here --memory 512m -c 'ls | wc -l'\n" +
			"hermes run -it -- bash                       # look around",
		Annotations: map[string]string{kindAnnotation: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.task, o.spec.ephemeral = randomTask(), true
			return runExec(cmd.Context(), a, &o, args)
		},
	}
	o.addEngine(cmd)
	o.addFlags(cmd)
	o.addCommandFlags(cmd)
	o.spec.addFlags(cmd)
	return cmd
}

func randomTask() string {
	var b [6]byte
	rand.Read(b[:])
	return "run-" + hex.EncodeToString(b[:])
}
