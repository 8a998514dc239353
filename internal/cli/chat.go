package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// absentError is what hermes will do and does not yet.
type absentError struct{ message string }

func (e *absentError) Error() string { return e.message }

func newChat(*app) *cobra.Command {
	return &cobra.Command{
		Use:                   "chat [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Talk to the agent (not built yet)",
		Long: "Will be a talk with the agent. The agent itself is not built yet: whatever is asked of it ends with 69. The place that it\n" +
			"will live in is: sandboxes, gateways, add-ons.",
		Example: "hermes chat\nhermes chat -q 'what is in this directory?'",
		// Nobody is to learn from a wrong flag that it is the flag.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               cobra.ArbitraryArgs,
		Annotations:        map[string]string{kindAnnotation: promises},
		RunE:               func(*cobra.Command, []string) error { return noAgent("chat") },
	}
}

func noAgent(what string) error {
	return &absentError{fmt.Sprintf("cannot %s: the agent itself is not built yet; what works: hermes run, hermes sandbox, hermes gateway, hermes addon; \"hermes status\" tells what there is", what)}
}

// addBare makes hermes without a command its status, and --tui what is said of a chat.
func addBare(a *app, root *cobra.Command) {
	tui := root.Flags().Bool("tui", false, "talk to the agent on the whole terminal (not built yet)")
	root.Flag("tui").Hidden = true
	others := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *tui:
			return noAgent("open the terminal of the agent")
		case len(args) == 0:
			return runStatus(cmd.Context(), a, false)
		}
		return others(cmd, args)
	}
	root.Annotations = map[string]string{kindAnnotation: promises}
}
