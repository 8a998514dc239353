package toolbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// Unavailable means that no sandbox could be had. Nothing was run and nothing is remembered of it: the next call tries
// again.
type Unavailable struct{ Err error }

func (u *Unavailable) Error() string {
	return "the sandbox cannot be reached: " + oneLine(u.Err) + "; nothing was run, so try again in a moment"
}

func (u *Unavailable) Unwrap() error { return u.Err }

// unavailable is the reason of an answer that has no sandbox behind it.
const unavailable = "unavailable"

// degraded is the answer of a terminal that has no sandbox.
func degraded(u *Unavailable) TerminalOutput {
	return TerminalOutput{Output: u.Error(), ExitCode: -1, Reason: unavailable, Degraded: true}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// use calls f with the sandbox, and says whether that was made anew since the last call or for this one. One that turns
// out to have ended before it was asked for anything is got anew, once: what may have begun is never begun again.
func (t *Toolbox) use(ctx context.Context, f func(*sandbox.Sandbox) error) (recreated bool, err error) {
	for range 2 {
		called := false
		err = t.place.Use(ctx, func(box *sandbox.Sandbox) error {
			called = true
			recreated = t.isAnother(ctx, box) || recreated
			err := f(box)
			recreated = t.isAnother(ctx, box) || recreated
			return err
		})
		gone := (errors.Is(err, sandbox.ErrGone) || errors.Is(err, sandbox.ErrNotFound)) && !errors.Is(err, sandbox.ErrMayHaveRun)
		switch {
		case err == nil || ctx.Err() != nil:
			return recreated, err
		case !called || gone:
			err = &Unavailable{err}
		}
		if !gone {
			break
		}
	}
	return recreated, err
}

// lastBox is the sandbox that the last call had.
type lastBox struct {
	box    *sandbox.Sandbox
	remade int
}

// isAnother says whether the sandbox is not the one that the last call had. A hold knows how often it made its sandbox
// anew; in one that was taken anew, a session that is known here must be known.
func (t *Toolbox) isAnother(ctx context.Context, box *sandbox.Sandbox) bool {
	now := lastBox{box, box.Recreations()}
	t.mu.Lock()
	before, known := t.last, t.hasSession
	t.last = now
	t.mu.Unlock()
	another := before.box == box && before != now
	if before.box != box && known {
		status, err := box.Status(ctx)
		another = err == nil && !slices.Contains(status.Sessions, t.session)
	}
	if another {
		t.rememberSession(false)
	}
	return another
}

// rememberSession notes whether a command has run in the session, so that the sandbox must know it.
func (t *Toolbox) rememberSession(has bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasSession = has
}

// environment is what each command gets of the caller's variables, and what its output must not show.
func (t *Toolbox) environment() (env map[string]string, secrets []string, err error) {
	if env, err = t.place.Variables(); err != nil {
		return nil, nil, err
	}
	for _, s := range t.secrets() {
		secrets = append(secrets, s.Reveal())
	}
	for name, value := range env {
		if config.IsSecret(name) || looksRandom(value) {
			secrets = append(secrets, value)
		}
	}
	return env, secrets, nil
}

// looksRandom says whether a value is like a key, whatever it is called: long, of letters and digits, and no path or
// address.
func looksRandom(value string) bool {
	const least = 20
	return len(value) >= least && strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter) &&
		!strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("/:,;", r) })
}
