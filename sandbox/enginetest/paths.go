package enginetest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// Tests are written for a sandbox with a root of its own: its home is /root, its
// workspace is /workspace, and nobody else writes its /tmp. Where a sandbox shares the
// machine's root, the same tests run in directories of the sandbox's own, which these
// names stand for in what commands are told and in what they say.

// names of the places that tests use.
var ownPlaces = []string{sandbox.Workspace, sandbox.Home, "/var/tmp", "/dev/shm", "/tmp", "/run"}

// paths maps these names to directories; nil where they are what they say.
type paths map[string]string

// paths of a sandbox, which exists.
func (s *suite) paths(t *testing.T, id sandbox.Identity, spec sandbox.Spec) paths {
	t.Helper()
	if s.config.Place == nil {
		return nil
	}
	p := make(paths)
	for _, name := range ownPlaces {
		p[name] = s.config.Place(id, spec, name)
		if err := os.MkdirAll(p[name], 0o777); err != nil {
			t.Error(err)
		}
		if name != sandbox.Workspace && name != sandbox.Home {
			os.Chmod(p[name], 0o777|os.ModeSticky)
		}
	}
	return p
}

// guestOf tells guests apart where their temporary files are not theirs alone: it is
// the process that started the shell.
const guestOf = `read -r stat </proc/$PPID/stat; echo "$PPID $stat" | cut -d' ' -f1,23`

// in is what text says inside.
func (p paths) in(text string) string {
	if p == nil {
		return text
	}
	text = strings.ReplaceAll(text, whoami, guestOf)
	var b strings.Builder
	for i := 0; i < len(text); {
		name := p.nameAt(text, i)
		if name == "" {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(p[name])
		i += len(name)
	}
	return b.String()
}

// nameAt returns the name that begins at i and is no part of a longer one.
func (p paths) nameAt(text string, i int) string {
	const part = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if i > 0 && strings.IndexByte(part+"~/", text[i-1]) >= 0 {
		return ""
	}
	for _, name := range ownPlaces {
		rest, ok := strings.CutPrefix(text[i:], name)
		if ok && (rest == "" || strings.IndexByte(part, rest[0]) < 0) {
			return name
		}
	}
	return ""
}

// out is what text from inside says to the tests.
func (p paths) out(text string) string {
	for _, name := range ownPlaces {
		if p != nil {
			text = strings.ReplaceAll(text, p[name], name)
		}
	}
	return text
}

// command is what a command is told inside.
func (p paths) command(c sandbox.Command) sandbox.Command {
	if p == nil {
		return c
	}
	c.Line, c.Cwd, c.Argv = p.in(c.Line), p.in(c.Cwd), slices.Clone(c.Argv)
	for i, arg := range c.Argv {
		c.Argv[i] = p.in(arg)
	}
	if c.Env != nil {
		env := make(map[string]string, len(c.Env))
		for name, value := range c.Env {
			env[name] = p.in(value)
		}
		c.Env = env
	}
	return c
}

type execute func(context.Context, sandbox.Command) (sandbox.Result, error)

// around translates what a command is told, and what its result says.
func (p paths) around(exec execute) execute {
	if p == nil {
		return exec
	}
	return func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
		result, err := exec(ctx, p.command(c))
		result.Cwd, result.CwdFallback, result.Message = p.out(result.Cwd), p.out(result.CwdFallback), p.out(result.Message)
		return result, err
	}
}

// told is what a background process is told inside.
func (p paths) told(bg sandbox.Background) sandbox.Background {
	bg.Command = p.command(bg.Command)
	return bg
}
