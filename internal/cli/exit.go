package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/gateway"
	"hermes.example/hermes/sandbox"
)

// kind tells commands apart by what their exit status is about.
type kind int

const (
	plain   kind = 1 << iota // does something itself
	runner                   // runs a command and ends as that one did
	judge                    // looks at something and says whether it is well
	starter                  // starts a command and does not wait for it
	server                   // serves until it is asked to end
	promise                  // is not built yet, or not all of it
	anyKind = plain | runner | judge | starter | server
)

// Statuses that the code names.
const (
	statusAbsent      = 69
	statusRestart     = 75
	statusSetting     = 78
	statusCannotRun   = 125
	statusInterrupted = 130
)

// outcome is one row of the table of exit statuses.
type outcome struct {
	kind   kind
	status string
	what   string
	// code is the status of the errors that the row is for: those that matches
	// says, or, with rest, those that no row matches. Rows with neither are
	// about the command that was run.
	code    int
	matches func(error) bool
	rest    bool
}

// outcomes is where, and only where, an error becomes an exit status. --help
// prints the rows.
var outcomes = []outcome{
	{kind: plain, status: "0", what: "done"},
	{kind: runner, status: "0", what: "the command succeeded"},
	{kind: judge, status: "0", what: "all is well, or works but less (notes)"},
	{kind: starter, status: "0", what: "the command runs"},
	{kind: server, status: "0", what: "it ended for good, as it was asked to"},
	{kind: plain | starter | server, status: "1", what: "it could not be done", code: 1, rest: true},
	{kind: judge, status: "1", what: "something is bad: what Hermes needs does not work", code: 1, rest: true},
	{kind: anyKind, status: "2", what: "wrong usage: nothing was done", code: 2, matches: isA[*usageError]},
	{kind: promise, status: "69", what: "the agent itself is not built yet (chat, --tui)", code: statusAbsent, matches: isA[*absentError]},
	{kind: server, status: "75", what: "it ended to be started again", code: statusRestart, matches: isRestart},
	{kind: server, status: "78", what: "the configuration is bad: it is of no use to start it again", code: statusSetting, matches: isA[*settingError]},
	{kind: anyKind &^ server, status: "78", what: "the configuration names a backend that this hermes does not have", code: statusSetting, matches: isA[*settingError]},
	{kind: runner, status: "124", what: "the command's time was over"},
	{kind: runner, status: "125", what: "Hermes could not run the command, or cannot say how it ended", code: statusCannotRun, rest: true},
	{kind: runner | starter, status: "126", what: "the command cannot be executed, or its directory does not exist"},
	{kind: runner | starter, status: "127", what: "the command was not found"},
	{kind: anyKind, status: "130", what: "interrupted, or nobody reads the output any more", code: statusInterrupted, matches: isInterrupt},
	{kind: runner, status: "128+N", what: "the command ended by signal N; 137 also when memory ran out"},
	{kind: runner, status: "other", what: "the command's own"},
}

func exitStatus(k kind, err error) int {
	if err == nil {
		return 0
	}
	var end *ended
	if errors.As(err, &end) {
		return end.status()
	}
	status := 1
	for _, o := range outcomes {
		switch {
		case o.kind&k == 0:
		case o.matches != nil && o.matches(err):
			return o.code
		case o.rest:
			status = o.code
		}
	}
	return status
}

// ended carries the end of a command to the exit status. It is not a failure of
// ours, and what there is to say was said.
type ended struct{ result sandbox.Result }

func (e *ended) Error() string { return fmt.Sprintf("the command ended with status %d", e.result.Code) }

func (e *ended) status() int {
	if e.result.Code < 0 {
		return statusCannotRun
	}
	return e.result.Code
}

// usageError is what the person who typed can mend.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// settingError is what only a change of the configuration can mend.
type settingError struct{ message string }

func (e *settingError) Error() string { return e.message }

// settings makes what is wrong with the configuration an error that says so by its status. What was typed wrong is not.
func settings(err error) error {
	if err == nil || isA[*usageError](err) {
		return err
	}
	return &settingError{err.Error()}
}

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// flagError turns what the flag parser says into ours. Of an unknown group of
// short flags only the letter is repeated: the rest may be a value.
func flagError(cmd *cobra.Command, err error) error {
	message := err.Error()
	var unknown interface {
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}
	if strings.HasPrefix(message, "unknown ") && errors.As(err, &unknown) {
		dash := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dash = "-"
		}
		message = "there is no flag " + dash + unknown.GetSpecifiedName()
	}
	return usagef("cannot understand the command line: %s; see %q", message, cmd.CommandPath()+" --help")
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func isInterrupt(err error) bool { return errors.Is(err, context.Canceled) || isBrokenPipe(err) }

func isRestart(err error) bool { return errors.Is(err, gateway.ErrRestart) }

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// errorLine is what is said about an error, or "" when nothing is.
func errorLine(err error) string {
	switch {
	case err == nil, isA[*ended](err), isBrokenPipe(err), isRestart(err):
		return ""
	case errors.Is(err, context.Canceled):
		return "cannot go on: interrupted"
	}
	return err.Error()
}

// cannot says what could not be done, unless the error does so itself.
func cannot(what string, err error) error {
	if err == nil || isA[*ended](err) || strings.HasPrefix(err.Error(), "cannot ") {
		return err
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

// kindAnnotation marks the commands that are not plain: those that run commands,
// and, with the values judges, starts, serves and promises, those that judge, start or serve, or wait to be built.
const (
	kindAnnotation = "hermes-kind"
	judges         = "judges"
	starts         = "starts"
	serves         = "serves"
	promises       = "promises"
)

func kindOf(cmd *cobra.Command) kind {
	switch {
	case cmd == nil || cmd.Annotations[kindAnnotation] == "":
		return plain
	case cmd.Annotations[kindAnnotation] == judges:
		return judge
	case cmd.Annotations[kindAnnotation] == starts:
		return starter
	case cmd.Annotations[kindAnnotation] == serves:
		return server
	case cmd.Annotations[kindAnnotation] == promises:
		return plain | promise
	}
	return runner
}
