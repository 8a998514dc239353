package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// engines makes the engines of this build by their names.
var engines = map[string]func(*app, config.Config) (sandbox.Engine, error){
	"native": func(a *app, c config.Config) (sandbox.Engine, error) {
		return native.New(native.Options{Root: c.SandboxRoot, Progress: a.newFetching()})
	},
	"local": func(_ *app, c config.Config) (sandbox.Engine, error) {
		return local.New(local.Options{Root: c.SandboxRoot})
	},
}

func engineNames() []string { return sortedNames(engines) }

// target says which sandbox is meant.
type target struct {
	task, profile, engine string
	engineGiven           func() bool // nil for commands without the flag
}

// addTarget adds all that says which sandbox is meant.
func (t *target) addTarget(a *app, cmd *cobra.Command) {
	t.addTask(a, cmd)
	t.addProfile(cmd)
	t.addEngine(cmd)
}

func (t *target) addTask(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.task, "task", "default", "`NAME` under which the sandbox is found again")
	mustComplete(cmd, "task", a.completeTasks)
}

func (t *target) addProfile(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.profile, "profile", "default", "agent `NAME` within the home")
}

func (t *target) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.engine, "engine", "", "what makes the sandbox: `NAME`, one of "+strings.Join(engineNames(), ", ")+"\n(default TERMINAL_ENV, else "+config.DefaultEngine+")")
	t.engineGiven = func() bool { return cmd.Flags().Changed("engine") }
	mustComplete(cmd, "engine", cobra.FixedCompletions(engineNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (t *target) identity(c config.Config) sandbox.Identity {
	return sandbox.Identity{Home: c.Home, Profile: t.profile, Task: t.task}
}

// of is the same target with another task.
func (t target) of(task string) *target {
	t.task = task
	return &t
}

// open loads the configuration and returns a manager of the target's engine.
func (t *target) open(a *app) (*sandbox.Manager, config.Config, error) {
	c, err := config.Load(a.lookup)
	if err != nil {
		return nil, c, err
	}
	m, err := t.manager(a, c)
	return m, c, err
}

func (t *target) manager(a *app, c config.Config) (*sandbox.Manager, error) {
	if t.engineGiven != nil && t.engineGiven() {
		return managerOf(a, c, t.engine)
	}
	return managerOf(a, c, c.Engine)
}

// managerOf returns a manager of the engine of that name.
func managerOf(a *app, c config.Config, name string) (*sandbox.Manager, error) {
	newEngine, ok := engines[name]
	if !ok {
		return nil, usagef("cannot use the engine %q: this hermes has %s; name one by --engine or TERMINAL_ENV", name, strings.Join(engineNames(), ", "))
	}
	e, err := newEngine(a, c)
	if err != nil {
		return nil, cannot("use the engine "+name, err)
	}
	// A lifetime of zero means the shortest to the user, the default to the Manager.
	return sandbox.NewManager(e, sandbox.Options{Lifetime: max(c.Lifetime, time.Second), NoSweep: !c.OrphanReaper}), nil
}

// close gives up what a manager holds. What fails here cannot change how the
// command ended.
func (a *app) close(m *sandbox.Manager) {
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
	m, c, err := t.open(a)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer a.close(m)
	infos, err := m.List(cmd.Context(), c.Home)
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
