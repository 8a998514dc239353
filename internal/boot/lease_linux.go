package boot

import (
	"context"
	"errors"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/lease"
)

// holder looks whether another container supervises the volume, before anything of it is changed.
func holder(_ context.Context, b *boot) error {
	var err error
	b.result.Holder, err = lease.Look(b.rootHome.root.FD(), b.leasing())
	return err
}

// takeLease makes us the one who supervises. The home of all profiles is where their gateways are supervised from.
func takeLease(ctx context.Context, b *boot) (err error) {
	o := b.leasing()
	// One of its own: the lease lives longer than the boot.
	if o.Hand, err = asuser.New(b.result.Files()); err != nil {
		return err
	}
	if b.result.Lease, err = lease.Take(ctx, b.rootHome.root.FD(), o); err != nil {
		o.Hand.Close()
	}
	if errors.As(err, &b.result.Holder) {
		return nil
	}
	return err
}

func (b *boot) leasing() lease.Options {
	return lease.Options{Self: b.Self, Now: b.Now, Locks: b.Locks, Warn: func(err error) { b.Log.Warn(err.Error()) }}
}
