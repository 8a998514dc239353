package toolbox

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/sandbox"
)

// configuredPlace is a sandbox as a configuration wants it, with an engine that is looked for by each call.
type configuredPlace struct{ configured.Options }

func (p configuredPlace) Use(ctx context.Context, f func(*sandbox.Sandbox) error) error {
	boxes, err := configured.OpenSandboxes(p.Options)
	if err != nil {
		return err
	}
	return errors.Join(boxes.Use(ctx, "tools", f), boxes.Close())
}

func (p configuredPlace) Variables() (map[string]string, error) { return nil, nil }

func (p configuredPlace) Isolated() bool { return true }

// A daemon that nobody started, as the real client finds it.
func TestDaemonThatDoesNotAnswerIsToldWithEveryCall(t *testing.T) {
	home := t.TempDir()
	environment := map[string]string{"HERMES_HOME": home, "TERMINAL_ENV": "docker", "DOCKER_HOST": "unix://" + filepath.Join(home, "nobody.sock"), "HOME": home}
	place := configuredPlace{configured.Options{Lookup: func(name string) (string, bool) {
		value, found := environment[name]
		return value, found
	}}}
	box := New(Options{Place: place, Session: "model", Home: home, Settings: usualSettings})
	t.Cleanup(func() { box.Close() })
	for range 2 {
		out := run(t, box, "echo up")
		if !out.Degraded || out.ExitCode != -1 || !strings.Contains(out.Output, "nobody.sock") || !strings.Contains(out.Output, "try again") || strings.Contains(out.Output, "\n") {
			t.Errorf("%+v", out)
		}
	}
}
