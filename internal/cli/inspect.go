package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

type inspectOptions struct {
	target
	json bool
}

func newInspect(a *app) *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:                   "inspect [FLAG…] [TASK]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what a sandbox is, who uses it, and what is enforced on it",
		Long: "Shows a sandbox: whose it is, how it was specified, who uses it, its sessions, and what is really enforced: what was\n" +
			"set up, held against what a process inside finds when it tries. What is weaker than the default is listed at the end.",
		Example: "hermes sandbox inspect build\nhermes sandbox inspect --task build --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && cmd.Flags().Changed("task") {
				return usagef("cannot inspect more than one sandbox at a time")
			}
			return nil
		},
		ValidArgsFunction: a.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.task = args[0]
			}
			return runInspect(cmd.Context(), a, &o)
		},
	}
	o.addTarget(a, cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// sheet is all that is known of a sandbox.
type sheet struct {
	sandboxRow
	Posture  sandbox.Posture                 `json:"posture"`
	Sessions map[string]sandbox.SessionState `json:"sessions"`
}

func runInspect(ctx context.Context, a *app, o *inspectOptions) error {
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	m, id := boxes.Manager(), boxes.Identity(o.task)
	info, posture, err := m.Inspect(ctx, id)
	if err != nil {
		return noSandbox("inspect", id, err)
	}
	s := sheet{sandboxRow: sandboxRow{survey.AskOne(ctx, m, info)}, Posture: posture, Sessions: make(map[string]sandbox.SessionState)}
	if s.Status != nil {
		for _, name := range s.Status.Sessions {
			// One that ended meanwhile has nothing to show.
			if state, err := m.SessionOf(ctx, id, name); err == nil {
				s.Sessions[name] = state
			}
		}
	}
	if o.json {
		return cannot("write the answer", writeJSON(a.stdout, s))
	}
	return cannot("write the answer", s.write(a))
}

func (s sheet) write(a *app) error {
	p := a.paint()
	var rows [][]cell
	title := func(text string) {
		if len(rows) > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, []cell{{text, bold}})
	}
	line := func(name string, values ...cell) { rows = append(rows, append([]cell{{"  " + name, ""}}, values...)) }
	text := func(v string) cell { return cell{v, ""} }

	title("sandbox")
	line("task", text(printable(s.Identity.Task)))
	line("profile", text(printable(s.Identity.Profile)))
	line("home", text(printable(s.Identity.Home)))
	line("engine", text(s.Engine))
	line("state", s.state())
	line("created", text(s.Created.Local().Format(time.RFC3339)))

	title("specification")
	for _, row := range describeSpec(s.Spec) {
		line(row[0], text(row[1]))
	}

	title("use")
	use, commands := s.use()
	line("now", use)
	if s.Status != nil {
		line("commands", text(commands))
		line("other callers", text(fmt.Sprint(s.Status.Connections)))
		line("processes", text(fmt.Sprint(s.Status.Processes)))
		line("shell", text(shellName(s.Status.Shell)))
	}
	for _, name := range sortedNames(s.Sessions) {
		line("session "+printable(name), text(describeSession(s.Sessions[name])))
	}

	title("enforced")
	for _, fact := range s.Posture.Facts {
		line(fact.Name, describeFact(fact))
	}
	if len(s.Posture.Facts) == 0 {
		line("nothing runs")
		return writeTable(a.stdout, p, rows)
	}

	title("weaker than the default")
	deviations := s.Posture.Deviations()
	for _, fact := range deviations {
		line(fact.Name, cell{printable(fact.Deviation), yellow})
	}
	if len(deviations) == 0 {
		line("nothing")
	}
	return writeTable(a.stdout, p, rows)
}

func describeSpec(s sandbox.Spec) [][2]string {
	s = s.Normal()
	rows := [][2]string{
		{"image", cmp.Or(printable(s.Image), "none: the machine's own programs")},
		{"directory", cmp.Or(printable(s.Cwd), "the image's")},
		{"network", string(s.Network)},
		{"memory", limit(s.Limits.Memory > 0, fmt.Sprintf("%d MiB", s.Limits.Memory>>20))},
		{"cpus", limit(s.Limits.CPUs > 0, fmt.Sprintf("%g", s.Limits.CPUs))},
		{"pids", limit(s.Limits.Pids > 0, fmt.Sprint(s.Limits.Pids))},
		{"files", "kept"},
	}
	if s.Ephemeral {
		rows[len(rows)-1][1] = "not kept (ephemeral)"
	}
	if s.User != "" {
		rows = append(rows, [2]string{"user", s.User})
	}
	if l := s.Limits; l.Disk != 0 || l.SharedMemory != 0 { // of containers only
		size := "the engine's own"
		if l.SharedMemory > 0 {
			size = fmt.Sprintf("%d MiB", l.SharedMemory>>20)
		}
		rows = append(rows, [2]string{"disk", limit(l.Disk > 0, fmt.Sprintf("%d MiB", l.Disk>>20))}, [2]string{"shared memory", size})
	}
	for _, m := range s.Mounts {
		access := "writable"
		if m.ReadOnly {
			access = "read-only"
		}
		if m.Origin != sandbox.ByCaller {
			access += ", by the " + string(m.Origin)
		}
		rows = append(rows, [2]string{"mount " + printable(m.Target), printable(m.Source) + ", " + access})
	}
	if len(s.Env) > 0 {
		rows = append(rows, [2]string{"variables", strings.Join(sortedNames(s.Env), " ")})
	}
	return rows
}

func limit(set bool, value string) string {
	if set {
		return value
	}
	return noLimit
}

func describeSession(s sandbox.SessionState) string {
	return fmt.Sprintf("in %s, %s, %s, %s", printable(s.Cwd), plural(len(s.Variables), "variable", "variables"),
		plural(len(s.Functions), "function", "functions"), plural(len(s.Aliases), "alias", "aliases"))
}

// describeFact tells what was found. What is not in force stands back, unless it
// should be.
func describeFact(f sandbox.Fact) cell {
	value := printable(f.Value) // a process inside had its part in it
	switch {
	case f.Deviation != "":
		return cell{value, yellow}
	case !f.Enforced:
		return cell{value, faint}
	}
	return cell{value, ""}
}

func shellName(path string) string {
	switch {
	case path == "":
		return "none"
	case strings.HasSuffix(path, "bash"):
		return path
	}
	return path + " (sessions keep directory, exports and aliases, but no functions)"
}
