package addon

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/sbom"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/addon/vet"
)

// build makes one generation. It lives as long as its writer.
type build struct {
	*Manager
	*place
	writer *store.Writer
	// about is the feature that somebody waits for; empty if all are alike.
	about string
	// anew takes nothing over from the current generation, fresh nothing from the installer's cache.
	anew, fresh bool

	generation store.Generation // the current one, if there is one
	current    manifest.Manifest
	leftOut    map[string]string // features that could not be had
}

// newBuild begins a build upon what there is. A generation that cannot be read is none.
func (m *Manager) newBuild(p *place, w *store.Writer) (*build, error) {
	b := &build{Manager: m, place: p, writer: w}
	g, err := w.Current()
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, inStore(err)
	}
	have, err := g.Manifest()
	if err != nil {
		b.Log.Warn("the current generation is spoilt, and all of it is installed anew", "why", err)
		b.anew = true
		return b, nil
	}
	b.generation, b.current = g, have
	return b, nil
}

// run builds and publishes a generation with the features that are wanted.
func (b *build) run(ctx context.Context, wanted []string) error {
	p, err := b.plan(ctx, wanted)
	if err != nil {
		return err
	}
	b.writer.StillWanted(slices.Collect(maps.Keys(b.leftOut))...)
	err = b.make(ctx, p)
	if errors.Is(err, unavailable.Rejected) && b.anew && !b.Offline {
		// The installer's cache shares its files with the generations that were made of it: what was spoilt in one is
		// spoilt in the other.
		b.Log.Warn("what the cache has is not what was published, and is fetched again", "why", err)
		b.fresh = true
		err = b.make(ctx, p)
	}
	return err
}

// make installs, checks and publishes what was planned.
func (b *build) make(ctx context.Context, p plan) error {
	staged, err := b.writer.Stage()
	if err != nil {
		return inStore(err)
	}
	if err := b.fill(ctx, p, staged); err != nil {
		return err
	}
	b.tell(Checking)
	report, err := vet.Check(staged.SitePackages(), b.Description, p.packages)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return rejected(err)
	}
	if err := p.importable(staged.SitePackages(), b.Site()); err != nil {
		return unavailable.StillMissing(err)
	}
	if err := report.Tidy(); err != nil {
		return inStore(err)
	}
	b.tell(Publishing)
	return b.publish(ctx, staged, manifest.Manifest{
		Version: manifest.Version, ABI: b.ABI, Core: b.core, Features: p.features(b.Distributions), Distributions: p.distributions(report.Distributions), Files: report.Files,
	})
}

// fill installs what is missing and takes the rest over. Where the current generation has lost something, all of it is
// installed.
func (b *build) fill(ctx context.Context, p plan, staged store.Staged) error {
	if missing := p.missing(); len(missing) > 0 {
		if err := b.installer().Install(ctx, missing, staged.SitePackages()); err != nil {
			return err
		}
	}
	if len(p.kept) == 0 {
		return nil
	}
	var files []manifest.File
	for _, f := range b.current.Files {
		if p.kept[f.Of] {
			files = append(files, f)
		}
	}
	return inStore(b.writer.Adopt(staged, b.generation, files))
}

func (b *build) publish(ctx context.Context, staged store.Staged, m manifest.Manifest) error {
	text, err := manifest.Encode(m)
	if err != nil {
		return rejected(err)
	}
	bill, err := sbom.Generate(m, manifest.Digest(text))
	if err != nil {
		return rejected(err)
	}
	if _, err := b.writer.Publish(ctx, staged, m, bill); err != nil {
		return inStore(err)
	}
	if _, err := b.writer.GC(ctx, store.Collect{Keep: 1}); err != nil {
		b.Log.Warn("cannot remove generations that nobody needs", "why", err)
	}
	return nil
}

func (b *build) tell(phase Phase) { b.Progress(Progress{Feature: b.about, Phase: phase}) }

// installer brings packages for this runtime, with a cache in the store.
func (b *build) installer() install.Installer {
	return install.Installer{
		Runtime: b.Runtime, Cache: b.Cache(), Environ: b.Environ, Timeout: b.Timeout, MinAge: minAge(b.Lookup), Offline: b.Offline, Fresh: b.fresh, Tools: b.tools(), Log: b.Log, Now: b.Now,
		Progress: func(e install.Event) {
			b.Progress(Progress{Feature: b.about, Phase: Phase(e.Phase), Done: e.Done, Total: e.Total, Size: e.Size})
		},
	}
}

// rejected says why a generation is not published.
func rejected(err error) error {
	return unavailable.Because(unavailable.Rejected, err, "nothing was changed; report this to who publishes the package")
}
