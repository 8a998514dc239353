package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// engines makes the engines of this build by their names.
var engines = map[string]func(config.Config) (sandbox.Engine, error){
	"native": func(c config.Config) (sandbox.Engine, error) {
		return native.New(native.Options{Root: c.SandboxRoot})
	},
}

const defaultEngine = "native"

func engineNames() []string {
	names := make([]string, 0, len(engines))
	for name := range engines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// target says which sandbox is meant.
type target struct {
	task, profile, engine string
}

func (t *target) addTask(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.task, "task", "default", "`NAME` under which the sandbox is found again")
	mustComplete(cmd, "task", a.completeTasks)
}

func (t *target) addProfile(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.profile, "profile", "default", "agent `NAME` within the home")
}

func (t *target) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.engine, "engine", defaultEngine, "what makes the sandbox: `NAME`, one of "+strings.Join(engineNames(), ", "))
	mustComplete(cmd, "engine", cobra.FixedCompletions(engineNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (t *target) identity(c config.Config) sandbox.Identity {
	return sandbox.Identity{Home: c.Home, Profile: t.profile, Task: t.task}
}

// open loads the configuration and returns a manager of the target's engine.
func (t *target) open(a *app) (*sandbox.Manager, config.Config, error) {
	c, err := config.Load(a.lookup)
	if err != nil {
		return nil, c, err
	}
	m, err := t.manager(c)
	return m, c, err
}

func (t *target) manager(c config.Config) (*sandbox.Manager, error) {
	newEngine, ok := engines[t.engine]
	if !ok {
		return nil, usagef("cannot use the engine %q: this hermes has %s", t.engine, strings.Join(engineNames(), ", "))
	}
	e, err := newEngine(c)
	if err != nil {
		return nil, cannot("use the engine "+t.engine, err)
	}
	// A lifetime of zero means the shortest to the user, the default to the Manager.
	return sandbox.NewManager(e, sandbox.Options{Lifetime: max(c.Lifetime, time.Second), NoSweep: !c.OrphanReaper}), nil
}

// obtain returns the target's sandbox. With a spec it is made to fit; without
// one it is taken as it is, and made when there is none.
func (t *target) obtain(ctx context.Context, m *sandbox.Manager, c config.Config, spec *sandbox.Spec) (*sandbox.Sandbox, error) {
	// An identity's home is compared by its real path, which it has once it exists.
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the home: %w", err)
	}
	id := t.identity(c)
	if spec != nil && spec.Ephemeral {
		if err := checkEphemeral(ctx, m, id); err != nil {
			return nil, err
		}
	}
	if spec == nil {
		box, err := m.Attach(ctx, id)
		if !errors.Is(err, sandbox.ErrNotFound) && !errors.Is(err, sandbox.ErrGone) {
			return box, err
		}
		spec = &sandbox.Spec{}
		// One that has stopped comes back as it was, unless it had variables,
		// whose values nobody kept.
		if info, err := m.Find(ctx, id); err == nil && len(info.Spec.Env) == 0 {
			spec = &info.Spec
		}
	}
	return m.Ensure(ctx, id, *spec)
}

// checkEphemeral refuses a task that keeps files: an ephemeral sandbox has none,
// and takes those of its task along when it ends.
func checkEphemeral(ctx context.Context, m *sandbox.Manager, id sandbox.Identity) error {
	if info, err := m.Find(ctx, id); err == nil && info.Spec.Ephemeral {
		return nil
	}
	kept, err := m.Keeps(ctx, id)
	if err == nil && kept {
		err = fmt.Errorf("the task %q keeps files, and an ephemeral sandbox would not: choose another task", id.Task)
	}
	return err
}

func randomTask() string {
	var b [6]byte
	rand.Read(b[:])
	return "run-" + hex.EncodeToString(b[:])
}

// completeTasks offers the tasks that have a sandbox.
func (a *app) completeTasks(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	t := target{engine: defaultEngine}
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
