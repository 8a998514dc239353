package boot

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// scratchDir is the service user's own place for files that need not last. It lies where everybody may make files,
// so what is there already may be anybody's.
const scratchDir = "hermes-files"

func scratch(_ context.Context, b *boot) error {
	fail := func(err error) error { return fmt.Errorf("cannot make /tmp/%s: %w", scratchDir, err) }
	tmp, err := b.system.Open("tmp", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(tmp)
	err = b.hand.Do(func() error { return unix.Mkdirat(tmp, scratchDir, 0o700) })
	if err != nil && err != unix.EEXIST {
		return fail(err)
	}
	fd, err := unix.Openat(tmp, scratchDir, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("refusing to use /tmp/%s: it is not a directory; remove it", scratchDir)
	}
	g := &giving{uid: b.result.User.UID, gid: b.result.User.GID}
	if b.result.Root {
		g.give(fd, &st, "/tmp/"+scratchDir)
	}
	if err := g.summary(); err != nil || st.Mode&0o7777 == 0o700 {
		return err
	}
	if err := b.hand.Do(func() error { return unix.Chmod(rooted.PathOf(fd), 0o700) }); err != nil {
		return fail(err)
	}
	return nil
}
