package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// commandOptions say what runs, and how. exec, run and shell share them.
type commandOptions struct {
	line, session, cwd, timeout string
	env, envFiles               []string
	interactive, tty, json      bool
	maxOutput                   string
	keep                        int // maxOutput as a number
	cmd                         *cobra.Command
}

// addFlags adds what every way to run something has.
func (o *commandOptions) addFlags(cmd *cobra.Command) {
	o.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&o.cwd, "cwd", "", "`DIRECTORY` of the sandbox to run in (default the session's, else "+sandbox.Workspace+")")
	f.StringArrayVar(&o.env, "env", nil, "`NAME=VALUE` for the command, or NAME with the caller's value; may be repeated")
	f.StringArrayVar(&o.envFiles, "env-file", nil, "`FILE` of NAME=VALUE lines; may be repeated")
}

func (o *commandOptions) addSession(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&o.session, "session", "", what)
}

// addLine makes the arguments a program, or lets a line take their place.
func (o *commandOptions) addLine(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false) // what follows the command's name is the command's
	cmd.Flags().StringVarP(&o.line, "command", "c", "", "`LINE` for the sandbox's shell, instead of a program and its arguments")
}

// addCommandFlags adds what commands other than a shell have.
func (o *commandOptions) addCommandFlags(cmd *cobra.Command) {
	o.addLine(cmd)
	f := cmd.Flags()
	f.StringVar(&o.timeout, "timeout", "", "`TIME` after which the whole tree is ended: seconds, 90s, 5m, or 0 for never\n(default TERMINAL_TIMEOUT, else 180; with -t never)")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "pass standard input on; without it the command reads end of file")
	f.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal; with -i it is yours")
	f.BoolVar(&o.json, "json", false, "print one JSON object with output and result, instead of the output")
	addMaxOutput(cmd, &o.maxOutput)
}

func addMaxOutput(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "max-output", fmt.Sprint(defaultMaxOutput), "with --json: `CHARACTERS` kept of each stream, or none for all")
}

// program checks the options that say what runs and makes a command of them.
func (o *commandOptions) program(a *app, argv []string) (sandbox.Command, error) {
	command := sandbox.Command{Argv: argv, Line: o.line, Cwd: o.cwd}
	given := o.cmd.Flags().Changed
	switch {
	case given("command") && len(argv) > 0:
		return command, usagef("cannot run both a line (-c) and a program (%q)", argv[0])
	case !given("command") && len(argv) == 0:
		return command, usagef("cannot run nothing: give -c LINE or -- PROGRAM ARGUMENT…; see %q", o.cmd.CommandPath()+" --help")
	case len(argv) > 0 && argv[0] == "":
		return command, usagef("cannot run a program without a name")
	}
	if given("command") && strings.TrimSpace(o.line) == "" {
		command.Line = ":" // what a shell makes of an empty line
	}
	var err error
	if given("timeout") {
		if command.Timeout, err = parseTimeout("--timeout", o.timeout); err != nil {
			return command, err
		}
	}
	command.Env, err = environment(a.lookup, o.envFiles, o.env)
	return command, err
}

// command checks the options and makes the command that they mean.
func (o *commandOptions) command(a *app, c config.Config, argv []string) (sandbox.Command, error) {
	given := o.cmd.Flags().Changed
	command, err := o.program(a, argv)
	switch {
	case err != nil:
		return command, err
	case o.json && o.tty:
		return command, usagef("cannot use --json with a terminal (-t)")
	case o.tty && !isTerminal(a.stdin):
		return command, usagef("cannot give the command a terminal: standard input is not one")
	case given("max-output") && !o.json:
		return command, usagef("cannot use --max-output without --json")
	}
	if !given("timeout") && !o.tty {
		command.Timeout = c.Timeout
	}
	o.keep, err = parseMaxOutput(o.maxOutput)
	return command, err
}

// run runs the command in the sandbox, or in a session of it, and says what its
// status does not.
func (o *commandOptions) run(ctx context.Context, a *app, box *sandbox.Sandbox, command sandbox.Command) error {
	var exec execFunc = box.Exec
	if o.session != "" {
		exec = box.Session(o.session).Exec
	}
	if o.interactive {
		command.Stdin = a.stdin
	}
	if o.json {
		return o.runCaptured(ctx, a, exec, command)
	}
	command.Stdout, command.Stderr = a.stdout, a.stderr
	if o.tty {
		exec = a.onTerminal(exec, o.interactive)
	}
	result, err := exec(ctx, command)
	if err != nil {
		return cannot("run the command", err)
	}
	a.remark(result)
	return end(result)
}

type execFunc func(context.Context, sandbox.Command) (sandbox.Result, error)

// answer is what --json prints of a command.
type answer struct {
	sandbox.Result
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// The exact bytes, where the text had to replace some.
	StdoutBase64 string `json:"stdout_base64,omitempty"`
	StderrBase64 string `json:"stderr_base64,omitempty"`
	// How many characters there were, where the text does not have them all.
	StdoutTotal int64 `json:"stdout_total_chars,omitempty"`
	StderrTotal int64 `json:"stderr_total_chars,omitempty"`
}

func (o *commandOptions) runCaptured(ctx context.Context, a *app, exec execFunc, command sandbox.Command) error {
	stdout, stderr := &capture{limit: o.keep}, &capture{limit: o.keep}
	command.Stdout, command.Stderr = stdout, stderr
	result, err := exec(ctx, command)
	if err != nil {
		return cannot("run the command", err)
	}
	out, errs := stdout.finish(), stderr.finish()
	err = writeJSON(a.stdout, answer{Result: result, Stdout: out.text, Stderr: errs.text,
		StdoutBase64: out.base64, StderrBase64: errs.base64, StdoutTotal: out.total, StderrTotal: errs.total})
	if err != nil {
		return cannot("write the answer", err)
	}
	return end(result)
}

// end is how we end after a command that ended so.
func end(r sandbox.Result) error {
	if r.Code == 0 {
		return nil
	}
	return &ended{r}
}

// remark says what there is to say about a result besides its status.
func (a *app) remark(r sandbox.Result) {
	switch {
	case r.Code < 0:
		a.say("cannot tell how the command ended: %s", r.Message)
	case r.Message != "":
		a.say("%s", r.Message)
	}
	if r.Recreated {
		a.say("%s", madeAnew)
	}
	if r.Missed > 0 {
		a.say("%d bytes of the command's output were lost", r.Missed)
	}
	if n := len(r.Survivors); n > 0 {
		a.say("%s of the command would not end", plural(n, "process", "processes"))
	}
}

const madeAnew = "the sandbox had ended and was made anew; its sessions and processes are gone"
