package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// printHelp writes a command's help: what it does, how it is called, examples,
// flags, and how it can end.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintln(w, strings.TrimSpace(about))
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use += " COMMAND"
	}
	section(w, "Usage", use)
	if cmd.HasAvailableSubCommands() {
		section(w, "Commands", listCommands(cmd))
	}
	if cmd.HasExample() {
		section(w, "Examples", cmd.Example)
	}
	cmd.InitDefaultHelpFlag()
	if flags := cmd.Flags().Lookup("help"); flags != nil {
		flags.Usage = "print this"
	}
	section(w, "Flags", unindent(cmd.LocalFlags().FlagUsages()))
	section(w, "Exit codes", listOutcomes(kindOf(cmd)))
}

func section(w io.Writer, title, body string) {
	fmt.Fprintf(w, "\n%s:\n", title)
	for line := range strings.SplitSeq(strings.TrimRight(body, "\n"), "\n") {
		fmt.Fprintln(w, strings.TrimRight("  "+line, " "))
	}
}

func unindent(flags string) string {
	lines := strings.Split(flags, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func listCommands(cmd *cobra.Command) string {
	var b strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "%-12s %s\n", sub.Name(), sub.Short)
		}
	}
	return b.String()
}

func listOutcomes(k kind) string {
	var b strings.Builder
	for _, o := range outcomes {
		if o.kind&k != 0 {
			fmt.Fprintf(&b, "%-6s %s\n", o.status, o.what)
		}
	}
	return b.String()
}

// newHelp is "hermes help COMMAND", another way to write --help.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Print the help of a command", Hidden: true, DisableFlagsInUseLine: true,
		Example: "hermes help run\nhermes help sandbox exec",
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			for _, name := range args {
				next, _, err := of.Find([]string{name})
				if err != nil || next == of {
					return unknownCommand(of, name)
				}
				of = next
			}
			return of.Help()
		},
	}
}
