package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/sandbox"
)

// target says which sandbox is meant.
type target struct {
	task, engine string
	engineGiven  func() bool // nil for commands without the flag
}

// addTarget adds all that says which sandbox is meant.
func (t *target) addTarget(a *app, cmd *cobra.Command) {
	t.addTask(a, cmd)
	t.addProfile(a, cmd)
	t.addEngine(cmd)
}

func (t *target) addTask(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.task, "task", "default", "`NAME` under which the sandbox is found again")
	mustComplete(cmd, "task", a.completeTasks)
}

// addProfile adds the flag that every command has, for the help of those that are about the sandboxes of a profile.
func (t *target) addProfile(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.profile, "profile", "p", "", profileUsage)
}

func (t *target) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.engine, "engine", "", "what makes the sandbox: `NAME`, one of "+strings.Join(configured.EngineNames(), ", ")+"\n(default TERMINAL_ENV, else "+config.DefaultEngine+", in Hermes' own image "+config.ImageEngine+")")
	t.engineGiven = func() bool { return cmd.Flags().Changed("engine") }
	mustComplete(cmd, "engine", cobra.FixedCompletions(configured.EngineNames(), cobra.ShellCompDirectiveNoFileComp))
}

// options are what the target says about its sandbox, with who is told about it.
func (t *target) options(a *app) (configured.Options, error) {
	o, err := a.sandboxOptions()
	if err != nil {
		return o, err
	}
	o.Expect, o.Progress = t.task, a.newFetching()
	if t.engineGiven != nil && t.engineGiven() {
		if !slices.Contains(a.engineNames(), t.engine) {
			return o, usagef("cannot use the engine %q: this hermes has %s", t.engine, strings.Join(a.engineNames(), ", "))
		}
		o.Engine = t.engine
	}
	return o, nil
}

// sandboxOptions are whose sandboxes are meant, with the configuration that the gateway of that profile has: both find the
// same sandbox for a task.
func (a *app) sandboxOptions() (configured.Options, error) {
	g, err := a.agent()
	if err != nil {
		return configured.Options{}, err
	}
	lookup, err := g.terminal()
	return configured.Options{Lookup: lookup, Home: g.root, Profile: g.name, Say: a.tell, Makers: a.makers}, err
}

// terminal is the configuration of the sandboxes that are meant.
func (a *app) terminal() (config.Config, error) {
	o, err := a.sandboxOptions()
	if err != nil {
		return config.Config{}, err
	}
	return o.Load()
}

// open loads the configuration and returns the sandboxes of the target's profile and engine.
func (t *target) open(a *app) (*configured.Sandboxes, error) {
	o, err := t.options(a)
	if err != nil {
		return nil, err
	}
	boxes, err := configured.OpenSandboxes(o)
	return boxes, unknownEngine(err)
}

// unknownEngine makes a configuration that names an engine that there is not an error of the configuration.
func unknownEngine(err error) error {
	if isA[*configured.UnknownEngineError](err) {
		return settings(err)
	}
	return err
}

// engineNames are those of the engines that there are.
func (a *app) engineNames() []string { return sortedNames(a.engines()) }

// engines are those that there are, by their names.
func (a *app) engines() map[string]configured.Maker {
	if a.makers != nil {
		return a.makers
	}
	return configured.Makers()
}

// everyManager returns the managers of the engines that a command without --engine is about, that of the target first,
// and the home whose sandboxes they have.
func (t *target) everyManager(a *app) (all []*sandbox.Manager, home string, c config.Config, err error) {
	o, err := t.options(a)
	if err != nil {
		return nil, "", config.Config{}, err
	}
	all, c, err = configured.EveryManager(o)
	return all, o.Home, c, unknownEngine(err)
}

// close gives up what a manager holds. What fails here cannot change how the
// command ended.
func (a *app) close(m io.Closer) {
	if err := m.Close(); err != nil {
		a.say("%s", cannot("clean up", err))
	}
}

// noSandbox says that a sandbox is not there, and where to look for those that are.
func noSandbox(what string, id sandbox.Identity, err error) error {
	if errors.Is(err, sandbox.ErrNotFound) {
		err = fmt.Errorf("%w; %q lists those that there are", err, "hermes sandbox ls")
	}
	return cannot(fmt.Sprintf("%s the sandbox %q", what, id.Task), err)
}

// completeTasks offers the tasks that have a sandbox.
func (a *app) completeTasks(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var t target
	boxes, err := t.open(a)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer a.close(boxes)
	infos, err := boxes.Manager().List(cmd.Context(), boxes.Home())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var tasks []cobra.Completion
	for _, info := range infos {
		if task := info.Identity.Task; printable(task) == task {
			tasks = append(tasks, task)
		}
	}
	return tasks, cobra.ShellCompDirectiveNoFileComp
}

// mustComplete sets what a flag offers for completion.
func mustComplete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic("cli: " + err.Error()) // the flag is not defined: a mistake in the program
	}
}
