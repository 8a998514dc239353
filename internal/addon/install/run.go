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
	// kept is how much is looked at for that.
	kept = 64 << 10
	// linger is how long output is waited for when the tool itself is gone.
	linger = 2 * time.Second
)

// run runs a tool to its end, or kills all that it started.
func (s *session) run(ctx context.Context, c command) error {
	s.secrets.learn(c.env)
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, c.program, c.args...)
	var stdout, stderr tail
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
		return &exited{exit.ExitCode(), s.secrets.hide(stdout.text()), s.secrets.hide(stderr.text())}
	case isVanished(err):
		return fmt.Errorf("%w: %w", errVanished, err)
	}
	return failed("", "cannot start %s: %w", c.program, err)
}

func (s *session) said(err error) string {
	if err == nil {
		return ""
	}
	return s.secrets.hide(err.Error())
}

// isVanished says whether a program is missing, or not one that can be started here.
func isVanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.ENOTDIR)
}

// tail keeps the end of what is written to it.
type tail struct {
	data []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if extra := len(t.data) - kept; extra > 0 {
		t.data, t.cut = append(t.data[:0], t.data[extra:]...), true
	}
	return len(p), nil
}

// text is what was kept. A line that lost its beginning is left out: it could begin in the middle of a secret.
func (t *tail) text() string {
	text := strings.ToValidUTF8(string(t.data), "?")
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}
