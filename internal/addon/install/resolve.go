package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/unavailable"
)

const (
	// DefaultMinAge is how old a release has to be before it is chosen: what is hostile is mostly found in its first days.
	DefaultMinAge = 14 * 24 * time.Hour
	// MinAgeVariable is the switch of this policy, in days, for whoever reads settings and for texts that name it.
	MinAgeVariable = "HERMES_ADDON_MIN_AGE_DAYS"
)

// Wish is what is to be resolved.
type Wish struct {
	Feature string
	Specs   []string
	// Core are the exact versions of the sealed runtime, by normalised name. Nothing else constrains: what is in the
	// store already must never keep a newer pin out.
	Core map[string]string
	// Sources are the packages of which there is no wheel, by normalised name. To find out what they need their code may
	// run: only who makes locks to be shipped names any.
	Sources []string
	// Platform is one that uv names, where it is not the runtime's own: for locks that are made on another machine.
	Platform string
}

// Resolve finds the closure of a feature for which no lock is shipped. Of the packages, only wheels are considered,
// unless the wish names some that have none.
func (i Installer) Resolve(ctx context.Context, w Wish) (lock.Lock, error) {
	if err := w.check(); err != nil {
		return lock.Lock{}, err
	}
	s, err := i.open()
	if err != nil {
		return lock.Lock{}, err
	}
	defer s.close()
	if s.Progress != nil {
		s.Progress(Event{Phase: Resolving})
	}
	packages, err := s.resolve(ctx, w)
	if err != nil {
		return lock.Lock{}, err
	}
	slices.SortFunc(packages, func(a, b lock.Package) int { return strings.Compare(a.Name, b.Name) })
	l := lock.Lock{Feature: w.Feature, Tag: i.Runtime.Tag, Kind: lock.FirstUse, Specs: lock.Digest(w.Specs), Packages: packages}
	// A tool that did not hold to the core's versions must not get through.
	if _, _, err := l.Without(w.Core); err != nil {
		return lock.Lock{}, unavailable.Because(unavailable.Conflict, err, "")
	}
	return l, nil
}

// check finds a conflict of the feature's own requirements with the core before any tool is started.
func (w Wish) check() error {
	for _, spec := range w.Specs {
		r, err := pep508.Parse(spec)
		if err != nil {
			return unavailable.UnsafeSpec(err)
		}
		have, there := w.Core[pep508.Normalize(r.Name)]
		if !there {
			continue
		}
		if ok, err := r.Accepts(have); err != nil || !ok {
			return unavailable.Because(unavailable.Conflict,
				fmt.Errorf("%s needs %s, but the core has %s %s", w.Feature, spec, pep508.Normalize(r.Name), have), "")
		}
	}
	return nil
}

// resolver is a tool that resolves, with files that were uploaded before a time, if there is one.
type resolver func(ctx context.Context, w Wish, before time.Time) ([]lock.Package, error)

func (s *session) resolve(ctx context.Context, w Wish) ([]lock.Package, error) {
	for _, uv := range s.uvs() {
		packages, err := s.attempt(ctx, w, s.uvResolver(uv))
		if !errors.Is(err, errVanished) {
			return packages, err
		}
	}
	pip, err := s.findPip(ctx)
	if err != nil {
		return nil, err
	}
	packages, err := s.attempt(ctx, w, s.pipResolver(pip))
	return packages, lastRung(err)
}

// attempt resolves, and when that fails finds out what it was: it leaves out one demand after the other.
func (s *session) attempt(ctx context.Context, w Wish, resolve resolver) ([]lock.Package, error) {
	before := s.before()
	packages, err := resolve(ctx, w, before)
	var exit *exited
	if !errors.As(err, &exit) {
		return packages, s.judge("resolving", err)
	}
	if !before.IsZero() && !s.Offline {
		if _, err := resolve(ctx, w, time.Time{}); err == nil {
			return nil, s.tooYoung(w.Feature, exit.words())
		}
	}
	free := w
	free.Core = nil
	if len(w.Core) > 0 && !s.Offline {
		if _, err := resolve(ctx, free, before); err == nil {
			return nil, unavailable.Because(unavailable.Conflict, fmt.Errorf("%s cannot be had beside the core's versions: %s", w.Feature, exit.conflict()), "")
		}
	}
	return nil, failed("", "cannot resolve %s: %s", w.Feature, exit.words())
}

// tooYoung says that the policy is the reason, and what to do. An index that knows no upload times is told from one that
// has only younger releases: uv takes no file to be old enough whose age it does not know.
func (s *session) tooYoung(feature, words string) error {
	why, what := "there are only younger ones that fit", "wait, or set "+MinAgeVariable+" to fewer days"
	if strings.Contains(words, "missing an upload date") || strings.Contains(words, "not provide upload-time") { // uv's words, pip's words
		why, what = "the package index gives no upload times", "use one that does, or set "+MinAgeVariable+"=0 to take releases of any age"
	}
	return failed(what, "cannot resolve %s with releases that are at least %s old, which is the policy: %s", feature, days(s.minAge()), why)
}

func days(d time.Duration) string { return fmt.Sprintf("%d days", int(d.Hours()/24)) }

func (i Installer) minAge() time.Duration {
	if i.MinAge == 0 {
		return DefaultMinAge
	}
	return i.MinAge
}

// before is the time after which a release is too young; zero: none is.
func (i Installer) before() time.Time {
	if i.minAge() <= 0 {
		return time.Time{}
	}
	return i.now().Add(-i.minAge())
}

func (i Installer) now() time.Time {
	if i.Now != nil {
		return i.Now()
	}
	return time.Now()
}

// constraints are the core's versions as a file.
func (w Wish) constraints() []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.Core)) {
		fmt.Fprintf(&b, "%s==%s\n", name, w.Core[name])
	}
	return []byte(b.String())
}

// write leaves the wish where the tools read it.
func (w Wish) write(s *session) error {
	return errors.Join(
		s.write("wish.in", []byte(strings.Join(w.Specs, "\n")+"\n")),
		s.write("core.txt", w.constraints()))
}
