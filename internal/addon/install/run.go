package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"hermes.example/hermes/internal/addon/lastwords"
)

// errVanished says that a program could not even be started because it is not there.
var errVanished = errors.New("it is not there")

// errTimedOut says that a program was ended because its time was over.
var errTimedOut = errors.New("its time was over")

// exited is a program that ended with an error, and its last words, without secrets.
type exited struct {
	code           int
	stdout, stderr string
}

func (e *exited) Error() string { return fmt.Sprintf("exit status %d: %s", e.code, e.words()) }

// words are what explains the end.
func (e *exited) words() string {
	words := cmp.Or(e.stderr, e.stdout, "no error output")
	return words[max(0, len(words)-lastWords):]
}

// conflict is the part that names the versions, which pip has among much else on its standard output.
func (e *exited) conflict() string {
	if _, after, found := strings.Cut(e.stdout, "The conflict is caused by:"); found {
		named, _, _ := strings.Cut(after, "\n\n")
		return strings.TrimSpace(named)
	}
	return e.words()
}

// command is one run of a tool.
type command struct {
	program string
	args    []string
	env     environment
	timeout time.Duration
	watch   io.Writer // is given what it writes; may be nil
}

const (
	// lastWords is how much of a tool's output is repeated where it is part of an explanation.
	lastWords = 2000
	// linger is how long output is waited for when the tool itself is gone.
	linger = 2 * time.Second
)

// run runs a tool to its end, or kills all that it started.
func (s *session) run(ctx context.Context, c command) error {
	learn(&s.secrets, c.env)
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, c.program, c.args...)
	var stdout, stderr lastwords.Tail
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, c.env.list(), &stdout, &stderr // stdin is the null device
	if c.watch != nil {
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, c.watch), io.MultiWriter(&stderr, c.watch)
	}
	cmd.WaitDelay = linger
	began := time.Now()
	err := runTree(cmd)
	s.Log.Info("ran an installer", "program", c.program, "args", c.args, "seconds", time.Since(began).Seconds(), "error", s.said(err))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return errTimedOut
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // the second: it succeeded, and something it started kept its output open
		return nil
	case errors.As(err, &exit):
		return &exited{exit.ExitCode(), s.secrets.Hide(stdout.Text()), s.secrets.Hide(stderr.Text())}
	case isVanished(err):
		return fmt.Errorf("%w: %w", errVanished, err)
	}
	return failed("", "cannot start %s: %w", c.program, err)
}

func (s *session) said(err error) string {
	if err == nil {
		return ""
	}
	return s.secrets.Hide(err.Error())
}

// isVanished says whether a program is missing, or not one that can be started here.
func isVanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.ENOTDIR)
}
