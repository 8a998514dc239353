package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// seeded are the directories of a home.
var seeded = []string{"cron", "sessions", "logs", "logs/gateways", "hooks", "memories", "skills", "skins", "plans", "workspace", "home",
	"pairing", "platforms/pairing", "backups", "lazy-packages"}

func directories(_ context.Context, b *boot) error {
	var failed []error
	for _, dir := range seeded {
		failed = append(failed, b.home.mkdir(dir))
	}
	return b.each(failed)
}

// installMark removes the mark of the image from the home: a host that shares the home would take itself for a
// container.
func installMark(_ context.Context, b *boot) error {
	const mark = ".install_method"
	text, err := b.home.read(mark)
	if errors.Is(err, os.ErrNotExist) || err == nil && strings.TrimSpace(string(text)) != "docker" {
		return nil
	}
	if err != nil {
		return err
	}
	return b.home.remove(mark)
}

// seeds gives a new home its first files, where the image has them.
func seeds(_ context.Context, b *boot) error {
	var failed []error
	for _, s := range []struct {
		file string
		mode os.FileMode
	}{{".env", envMode}, {"config.yaml", configMode}, {"SOUL.md", 0o644}} {
		failed = append(failed, b.seed(s.file, s.mode))
	}
	return b.each(failed)
}

// seed copies a template of the image.
func (b *boot) seed(file string, mode os.FileMode) error {
	if absent, err := b.home.absent("seed", file); !absent {
		return err
	}
	text, err := os.ReadFile(b.path(path.Join(b.Install, "seeds", file)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read a seed: %w", err)
	}
	return b.home.write(file, text, mode)
}

// The modes of what holds secrets, and of what tells where they are.
const (
	envMode    = 0o600
	configMode = 0o640
)

func modes(_ context.Context, b *boot) error {
	return b.each([]error{b.home.chmod(".env", envMode), b.home.chmod("config.yaml", configMode)})
}

// gatewayState makes the gateway of a new home start, if the operator says so.
func gatewayState(_ context.Context, b *boot) error {
	const file = "gateway_state.json"
	if b.env("HERMES_GATEWAY_BOOTSTRAP_STATE") != "running" {
		return nil
	}
	if absent, err := b.home.absent("seed", file); !absent {
		return err
	}
	return b.home.write(file, []byte(`{"gateway_state":"running"}`+"\n"), 0o644)
}

// each notes every failure but the last, which is the step's own.
func (b *boot) each(failed []error) (last error) {
	for _, err := range failed {
		if err == nil {
			continue
		}
		if last != nil {
			b.shortfall("%v", last)
		}
		last = err
	}
	return last
}
