package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/truth"
)

// imagePath is where programs are if nobody says otherwise.
const imagePath = "/opt/hermes/bin:/opt/hermes/.venv/bin:/opt/data/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// contract is the environment of all children, and what of it boot itself understands.
func contract(_ context.Context, b *boot) error {
	home := b.env("HERMES_REAL_HOME")
	if !path.IsAbs(home) {
		if home = b.result.User.Home; home == "" || b.stranger {
			home = b.result.Home
		}
	}
	b.result.User.Home = home
	e := &b.result.env
	e.set("HERMES_HOME", b.result.Home)
	e.set("HOME", home)
	if e.get("PATH") == "" {
		e.set("PATH", imagePath)
	}
	// They are secrets, and have done what they are for.
	e.unset("HERMES_AUTH_JSON_BOOTSTRAP")
	e.unset("HERMES_AUTH_JSON_REBOOTSTRAP")

	b.result.Dashboard = truth.Of(b.env("HERMES_DASHBOARD"))
	b.result.NoSupervise = truth.InAnyCase(b.env("HERMES_GATEWAY_NO_SUPERVISE"))
	return nil
}

// configTime is what the program may take to look at the configuration and to bring an old one up to date.
const configTime = 60 * time.Second

// configuration asks the program what config.yaml says, as the service user: parsing it is not for PID 1. The
// environment decides over it, and alone if it cannot be read.
func configuration(ctx context.Context, b *boot) error {
	var answer struct {
		Multiplex bool     `json:"multiplex_profiles"`
		Migrated  []string `json:"migrated"`
		Warnings  []string `json:"warnings"`
	}
	err := b.askProgram(ctx, &answer)
	if len(answer.Migrated) > 0 {
		b.Log.Info("brought the configuration up to date", "changes", answer.Migrated)
	}
	for _, warning := range answer.Warnings {
		b.shortfall("%s", warning)
	}
	b.result.Multiplex = answer.Multiplex
	switch value := b.env("GATEWAY_MULTIPLEX_PROFILES"); {
	case truth.InAnyCase(value):
		b.result.Multiplex = true
	case off(value):
		b.result.Multiplex = false
	}
	return err
}

func (b *boot) askProgram(ctx context.Context, answer any) error {
	if b.Program == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, configTime)
	defer stop()
	text, err := b.Run(ctx, Command{Argv: []string{b.Program, "config", "boot"}, Env: b.result.Environ(), Dir: "/", User: b.result.Service(), Capture: true})
	if err != nil {
		return fmt.Errorf("cannot look at the configuration, or bring it up to date: %w", err)
	}
	if json.Unmarshal(text, answer) != nil {
		return errors.New("cannot look at the configuration: the program's answer is not understood")
	}
	return nil
}

// browsers are programs by their names, best first. What merely begins so, as a library of theirs, is none.
var browsers = []string{"chrome", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell", "headless_shell"}

const browserVariable = "AGENT_BROWSER_EXECUTABLE_PATH"

// browser tells the agent where its browser is, unless the operator did.
func browser(_ context.Context, b *boot) error {
	if b.env(browserVariable) != "" {
		return nil
	}
	bundled := b.env("PLAYWRIGHT_BROWSERS_PATH")
	if !path.IsAbs(bundled) {
		bundled = path.Join(b.Install, ".playwright")
	}
	// With the rights of who runs it: it may lie in the volume.
	return b.hand.Do(func() error {
		for _, dirs := range [][]string{b.below(bundled), strings.Split(b.result.env.get("PATH"), ":")} {
			for _, name := range browsers {
				for _, dir := range dirs {
					if file := path.Join(dir, name); path.IsAbs(dir) && executable(b.path(file)) {
						b.result.env.set(browserVariable, file)
						return nil
					}
				}
			}
		}
		return nil
	})
}

// How far a bundle of browsers is searched.
const (
	bundleDepth = 4
	bundleDirs  = 1000
)

// below is a directory and those in it, as far as a browser can be from it.
func (b *boot) below(dir string) (dirs []string) {
	top := b.path(dir)
	// It cannot fail: what cannot be read holds no browser for us.
	_ = filepath.WalkDir(top, func(file string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		inside := strings.TrimPrefix(file, top)
		if strings.Count(inside, "/") > bundleDepth || len(dirs) == bundleDirs {
			return filepath.SkipDir
		}
		dirs = append(dirs, dir+inside)
		return nil
	})
	return dirs
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// publish writes what the boot found out to where scripts for s6-overlay look for it.
func publish(_ context.Context, b *boot) error {
	const dir = "/run/s6/container_environment"
	err := os.MkdirAll(b.path(dir), 0o755)
	for _, name := range []string{"HERMES_HOME", browserVariable} {
		if value := b.result.env.get(name); err == nil && value != "" {
			err = keepFile(b.path(path.Join(dir, name)), value)
		}
	}
	if errors.Is(err, unix.EROFS) {
		return nil // the old scripts cannot run there either
	}
	if err != nil {
		return fmt.Errorf("cannot write the environment for scripts of s6-overlay: %w", err)
	}
	return nil
}

// keepFile writes a file that does not say so already.
func keepFile(file, content string) error {
	if now, err := os.ReadFile(file); err == nil && string(now) == content {
		return nil
	}
	return os.WriteFile(file, []byte(content), 0o644)
}
