package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// What of a volume is ours to repair. All else in it is its owner's.
var (
	// trees are repaired with all that is in them when the volume came with another owner.
	trees = []string{"cron", "sessions", "logs", "hooks", "memories", "skills", "skins", "plans", "workspace", "home", "profiles",
		"pairing", "platforms/pairing", "lazy-packages", "backups"}
	// often are the trees in which root's files turn up while the volume is in use: they are looked at every time.
	often = []string{"profiles", "cron", "platforms/pairing", "pairing"}
	// single are repaired every time, without what is in them.
	single = []string{"logs/gateways", "platforms", "auth.json", "auth.lock", ".env", "state.db", "state.db-shm", "state.db-wal", "hermes_state.db",
		"response_store.db", "response_store.db-shm", "response_store.db-wal", "gateway.pid", "gateway.lock", "gateway_state.json",
		"processes.json", "active_profile", "config.yaml"}
)

// owners gives the service user what is its own. The home comes last: as long as that is another's, the next boot
// knows that this one did not get to its end.
func owners(ctx context.Context, b *boot) error {
	v := b.home
	var st unix.Stat_t
	if err := unix.Fstat(v.root.FD(), &st); err != nil {
		return v.failed("look at", "", err)
	}
	came := int(st.Uid) != b.result.User.UID
	repaired := often
	if came {
		repaired = trees
	}
	g := &giving{uid: b.result.User.UID, gid: b.result.User.GID}
	for _, dir := range repaired {
		b.onlyIfThere(g.tree(ctx, v, dir))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, file := range single {
		b.onlyIfThere(g.file(v, file))
	}
	if b.rootHome != v {
		// Of another profile's home only what the way to ours leads through.
		b.onlyIfThere(g.file(b.rootHome, "profiles"))
		b.onlyIfThere(g.file(b.rootHome, ""))
	}
	if came {
		g.give(v.root.FD(), &st, v.name)
	}
	if n := g.changed.Load(); n > 0 {
		b.Log.Info("gave files to the service user", "files", n)
	}
	return g.summary()
}

// onlyIfThere passes over what does not exist, and notes what was refused.
func (b *boot) onlyIfThere(err error) {
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.shortfall("%v", err)
	}
}

// file gives a single file or directory of the volume.
func (g *giving) file(v *volume, file string) error {
	fd, st, err := v.look("give to the service user", file)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	g.give(fd, &st, path.Join(v.name, file))
	return nil
}

// tree gives a directory of the volume with all that is in it, as far as it is of one file system, or until ctx ends.
func (g *giving) tree(ctx context.Context, v *volume, dir string) error {
	if err := g.file(v, dir); err != nil {
		return err
	}
	fd, err := v.root.OpenDir(dir, unix.O_NOFOLLOW)
	if err == unix.ELOOP || err == unix.ENOTDIR {
		return v.refusal("repair", dir)
	}
	if err != nil {
		return v.failed("repair", dir, err)
	}
	w := &walk{ctx: ctx, giving: g, jobs: make(chan *place)}
	w.all(&place{root: rooted.New(fd, rooted.NoLinks|rooted.OneFileSystem), name: path.Join(v.name, dir)}, 2*runtime.NumCPU())
	return nil
}

// summary is one line about everything that was left as it is.
func (g *giving) summary() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == 0 {
		return nil
	}
	return fmt.Errorf("cannot give %d files to user %d, the first is %w", g.left, g.uid, g.first)
}
