package boot

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/rooted"
)

// holder looks whether another container supervises the volume, before anything of it is changed.
func holder(_ context.Context, b *boot) error {
	return b.atRootHome(func(dir int) (err error) {
		b.result.Holder, err = lease.Look(dir, b.leasing())
		return err
	})
}

// takeLease makes us the one who supervises.
func takeLease(ctx context.Context, b *boot) error {
	return b.atRootHome(func(dir int) (err error) {
		o := b.leasing()
		// One of its own: the lease lives longer than the boot.
		if o.Hand, err = asuser.New(b.result.Files()); err != nil {
			return err
		}
		if b.result.Lease, err = lease.Take(ctx, dir, o); err != nil {
			o.Hand.Close()
		}
		if errors.As(err, &b.result.Holder) {
			return nil
		}
		return err
	})
}

func (b *boot) leasing() lease.Options {
	return lease.Options{Self: b.Self, Now: b.Now, Locks: b.Locks, Warn: func(err error) { b.Log.Warn(err.Error()) }}
}

// atRootHome opens the home of all profiles, which is where their gateways are supervised from.
func (b *boot) atRootHome(do func(dir int) error) error {
	if b.result.RootHome == b.result.Home {
		return do(b.home.root.FD())
	}
	// From the home upwards, so that no other way leads there.
	fd, err := unix.Openat(b.home.root.FD(), "../..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return b.home.failed("look at", "../..", err)
	}
	root := rooted.New(fd, rooted.NoLinks)
	defer root.Close()
	return do(root.FD())
}
