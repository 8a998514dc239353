// Package cli is the command line of Hermes: one file per command, each with its
// options, its flags and a function that runs it.
//
// cmd/hermes calls it. It turns words into calls of the packages below and their
// answers into text, JSON and exit statuses, and holds nothing that a Go caller
// of those packages would miss. Results go to standard output and nothing else
// does; a failure is one line on standard error.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/supervise/control"
)

// app is what commands see of the process that they run in.
type app struct {
	stdin          *os.File
	stdout, stderr io.Writer
	lookup         config.Lookup
	// profile is what --profile says, before or after the command's name; empty where it was not given.
	profile string
	// drains says that this process is a server: it takes its time to end, however often it is asked.
	drains atomic.Bool
	// makers, where a test gives them, are the engines that there are.
	makers map[string]configured.Maker
	// services, where a test gives them, are those of this machine.
	services control.Operations

	mu sync.Mutex
	// leave undoes what must not outlast the process, like a raw terminal, when
	// it has to end on the spot; nil when there is nothing to undo.
	leave func()
}

// Main runs the command line of this process and returns its exit status.
func Main() int {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv}
	ctx, stop := a.watchSignals()
	defer stop()
	return a.run(ctx, os.Args[1:])
}

// run carries out one command line.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil && !isA[*ended](err) && kindOf(cmd) != server {
		err = ctx.Err() // what failed, failed because it was interrupted
	}
	if line := errorLine(err); line != "" {
		a.say("%s", line)
	}
	return exitStatus(kindOf(cmd), err)
}

// say writes one line about ourselves to standard error.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stderr, "hermes: "+oneLine(fmt.Sprintf(format, args...)))
}

// tell says a line that is no format.
func (a *app) tell(line string) { a.say("%s", line) }

const profileUsage = "agent `NAME` within the home (default that of HERMES_HOME)"

// newRoot puts the commands together.
func newRoot(a *app) *cobra.Command {
	root := newGroup("hermes", "A home for an AI agent: places in which its commands run",
		"Hermes runs commands in hardened sandboxes that start in milliseconds: no Docker, no daemon, no root.\n"+
			"A sandbox lives on between commands and callers, and is found again by the name of its task. Without a command\n"+
			"hermes tells what there is here, and what to do next.",
		"hermes run --here -- make test               # this directory in a sandbox that is gone afterwards\n"+
			"hermes sandbox exec --task build -- ls -la   # a sandbox that stays\n"+
			"hermes sandbox shell --task build            # a terminal in it")
	root.AddCommand(newStatus(a), newChat(a))
	root.AddCommand(newRun(a), newSandbox(a), newDoctor(a), newVersion(a), newBench(a), newCompletion(a), newInit(a))
	root.AddCommand(newConfig(a), newDashboard(a), newAddon(a), newTools(a), newMCP(a))
	addImages(a, root)
	root.PersistentFlags().StringVarP(&a.profile, "profile", "p", "", profileUsage)
	addSupervision(a, root)
	addBare(a, root)
	addVersionFlag(a, root)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(flagError)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	return root
}

// newSandbox is the group of all that is done to sandboxes.
func newSandbox(a *app) *cobra.Command {
	group := newGroup("sandbox", "Run commands in sandboxes, look at them, remove them",
		"A sandbox is one isolated place. It is found by its task and profile, made by its first command, and\n"+
			"lives on until it is removed, or reaped after it was unused for some time.",
		"hermes sandbox exec --task build -c 'make && ./run'\n"+
			"hermes sandbox inspect build\n"+
			"hermes sandbox rm build")
	group.AddCommand(newExec(a), newShell(a), newLs(a), newInspect(a), newRm(a), newPrune(a))
	group.AddCommand(newStart(a), newPs(a), newLogs(a), newWait(a), newKill(a), newWrite(a), newEvents(a))
	group.AddCommand(newFork(a), newDiff(a), newCommit(a), newDiscard(a))
	group.AddCommand(newCp(a), newCat(a), newLsFiles(a))
	return group
}

// newGroup is a command that only holds others.
func newGroup(use, short, long, examples string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: examples,
		Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			if slices.ContainsFunc(args[1:], func(word string) bool { return word == "--help" || word == "-h" }) {
				return cmd.Help() // which tells what there is
			}
			return unknownCommand(cmd, args[0])
		},
	}
	// The flags behind a command that does not exist are not this one's: it is the command that is wrong.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("cannot use %q: %s takes no arguments", args[0], cmd.CommandPath())
	}
	return nil
}

func unknownCommand(group *cobra.Command, name string) error {
	if near := group.SuggestionsFor(name); len(near) > 0 {
		return usagef("cannot find the command %q; did you mean %q?", name, group.CommandPath()+" "+near[0])
	}
	return usagef("cannot find the command %q; see %q", name, group.CommandPath()+" --help")
}
