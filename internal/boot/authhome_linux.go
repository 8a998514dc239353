package boot

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

const authHomeVariable = "HERMES_AUTH_HOME"

// authHome is the directory of the credentials: the home, or one that the operator keeps apart from it, with the
// profiles of its own. The volume is the caller's to close if it is not the home. What is named but cannot be a
// directory for that is an error: credentials that were meant for elsewhere do not go into the home.
func (b *boot) authHome() (*volume, error) {
	dir, apart := environment(b.Environ).lookup(authHomeVariable)
	if !apart {
		return b.home, nil
	}
	if !path.IsAbs(dir) || path.Clean(dir) != dir || strings.TrimSpace(dir) != dir || strings.ContainsAny(dir, "\n\r") {
		return nil, fmt.Errorf("cannot use %s: it is not a plain absolute path; no credentials were seeded", authHomeVariable)
	}
	if why := b.unfit(dir); why != "" {
		return nil, fmt.Errorf("cannot use %s: %s; no credentials were seeded", authHomeVariable, why)
	}
	fd, real, err := b.chase(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s %s: %w", authHomeVariable, dir, err)
	}
	v := &volume{root: rooted.New(fd, rooted.NoLinks), name: dir, hand: b.hand}
	if err := b.settle(v, real); err != nil {
		v.root.Close()
		return nil, err
	}
	return v, nil
}

// settle makes a directory the service user's.
func (b *boot) settle(v *volume, real string) error {
	if why := b.unfit(real); why != "" {
		return fmt.Errorf("cannot use %s: it leads to %s, and %s", v.name, real, why)
	}
	if !b.result.Root {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(v.root.FD(), &st); err != nil {
		return v.failed("look at", "", err)
	}
	g := &giving{uid: b.result.User.UID, gid: b.result.User.GID}
	g.give(v.root.FD(), &st, v.name)
	return g.summary()
}

// authDir is where in a root of credentials, or in the home, those of our profile are.
func (b *boot) authDir(v *volume) string {
	if v == b.home || b.result.Home == b.result.RootHome {
		return ""
	}
	return "profiles/" + path.Base(b.result.Home)
}
