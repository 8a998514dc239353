package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// target says which sandbox is meant.
type target struct {
	task, profile, engine string
	engineGiven           func() bool // nil for commands without the flag
	containers            bool        // its engine makes some
	instance              string      // of this process, where none is shared
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
	cmd.Flags().StringVarP(&t.profile, "profile", "p", "default", "agent `NAME` within the home")
}

func (t *target) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.engine, "engine", "", "what makes the sandbox: `NAME`, one of "+strings.Join(engineNames(), ", ")+"\n(default TERMINAL_ENV, else "+config.DefaultEngine+", in Hermes' own image "+config.ImageEngine+")")
	t.engineGiven = func() bool { return cmd.Flags().Changed("engine") }
	mustComplete(cmd, "engine", cobra.FixedCompletions(engineNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (t *target) identity(c config.Config) sandbox.Identity {
	if t.containers && c.SharedKey != "" {
		return shared(c, t.task)
	}
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

func (t *target) engineName(c config.Config) (string, error) {
	if t.engineGiven == nil || !t.engineGiven() {
		return c.Engine, nil
	}
	if engines[t.engine] == nil {
		return "", usagef("cannot use the engine %q: this hermes has %s", t.engine, strings.Join(engineNames(), ", "))
	}
	return t.engine, nil
}

func (t *target) manager(a *app, c config.Config) (*sandbox.Manager, error) {
	name, err := t.engineName(c)
	if err != nil {
		return nil, err
	}
	m, ok := t.recall(a, c, name)
	if !ok {
		m, err = managerOf(a, c, name)
	}
	if err != nil || !m.Capabilities().Containers {
		return m, err
	}
	t.containers = true
	settings, err := c.Container()
	if err == nil && !settings.PersistAcrossProcesses {
		t.instance = rand.Text()
	}
	return m, err
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
