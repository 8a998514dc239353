package roster

import (
	"context"
	"errors"
	"slices"
	"time"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
)

// After a change of the profiles' directory Watch looks a few times in short order: a profile is made file by file,
// and the last one makes it real.
const (
	settle = 250 * time.Millisecond
	looks  = 12
)

// Watch keeps the gateways in step with profiles that are made or deleted by others, until ctx ends. A new one's
// gateway is registered, and started if its state says so; one whose directory is gone is ended and forgotten.
func (r *Roster) Watch(ctx context.Context) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle {
		return
	}
	if err := r.home.Sweep(ctx); err != nil {
		r.log.Warn("files of deleted profiles remain", "why", err)
	}
	watcher := r.home.Watch()
	defer watcher.Close()
	missing := map[string]bool{}
	for hurry := looks; ; {
		watcher.Arm() // before the look, so that nothing falls between the two
		missing = r.look(ctx, missing)
		wait := r.poll
		if hurry > 0 || len(missing) > 0 {
			hurry, wait = max(hurry-1, 0), min(settle, r.poll)
		}
		if sleep(ctx, wait, watcher.Changes) {
			hurry = looks
			sleep(ctx, settle/5, nil) // changes come in swarms
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// sleep ends with the time, the context or a change, and says whether it was the last.
func sleep(ctx context.Context, d time.Duration, changes <-chan struct{}) bool {
	select {
	case <-changes:
		return true
	case <-ctx.Done():
	case <-time.After(d):
	}
	return false
}

// look compares profiles and gateways once. It returns the gateways whose profiles are missing: one that is still
// missing the next time is forgotten, so that a directory that is moved away and back ends nothing.
func (r *Roster) look(ctx context.Context, missing map[string]bool) map[string]bool {
	names, _, err := r.home.List()
	if err != nil {
		return nil // the volume is away, or hostile: nothing is known
	}
	services, err := r.driver.List(ctx)
	if err != nil {
		return nil
	}
	still := map[string]bool{}
	for _, s := range services {
		name, is := ProfileOf(s.Name)
		if !is || name == profile.Default {
			continue
		}
		if at, found := slices.BinarySearch(names, name); found {
			names = slices.Delete(names, at, at+1)
		} else if gone, err := r.home.Gone(name); err == nil && gone && !(missing[name] && r.forget(ctx, name)) {
			still[name] = true
		}
	}
	for _, name := range names {
		r.adopt(ctx, name)
	}
	return still
}

// forget ends the gateway of a profile that is gone, and says whether it did.
func (r *Roster) forget(ctx context.Context, name string) bool {
	err := r.Unregister(ctx, name)
	if err != nil {
		r.log.Warn("the gateway of a deleted profile cannot be ended", "profile", name, "why", err)
		return false
	}
	r.log.Info("the profile is gone, and its gateway with it", "profile", name)
	return true
}

// adopt registers the gateway of a profile that somebody else made.
func (r *Roster) adopt(ctx context.Context, name string) {
	defer r.lock(name)()
	state, up := r.intent(name)
	err := r.driver.Register(ctx, r.service(name), up)
	switch {
	case errors.Is(err, supervise.ErrRegistered):
	case err != nil:
		r.log.Warn("the gateway of a new profile cannot be registered", "profile", name, "why", err)
	default:
		r.audit(profile.Audit{Profile: name, Prior: state.Text(), Started: up, Exit: profile.ExitUnknown})
	}
}
