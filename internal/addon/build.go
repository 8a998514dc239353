package addon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/lock"
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
	err = b.make(ctx, &p)
	if errors.Is(err, unavailable.Rejected) && b.anew && !b.Offline {
		// The installer's cache shares its files with the generations that were made of it: what was spoilt in one is
		// spoilt in the other.
		b.Log.Warn("what the cache has is not what was published, and is fetched again", "why", err)
		b.fresh = true
		err = b.make(ctx, &p)
	}
	return err
}

// make installs, checks and publishes what was planned, which is less if something of it could not be had.
func (b *build) make(ctx context.Context, p *plan) error {
	staged, err := b.writer.Stage()
	if err != nil {
		return inStore(err)
	}
	adopted, err := b.fill(ctx, p, staged)
	if err != nil {
		return err
	}
	b.writer.StillWanted(slices.Collect(maps.Keys(b.leftOut))...)
	b.tell(Checking)
	// What was taken over was compiled by us. The store finds out whether somebody has changed it since.
	report, err := b.check(staged, p.packages, paths(adopted))
	if err != nil {
		return err
	}
	trees, err := checkTrees(staged, p.trees())
	if err != nil {
		return err
	}
	if err := cmp.Or(p.importable(staged.SitePackages(), b.Site()), p.startable(staged)); err != nil {
		return unavailable.StillMissing(err)
	}
	b.tell(Publishing)
	return b.publish(ctx, b.writer.Publish, staged, manifest.Manifest{
		Version: manifest.Version, ABI: b.ABI, Core: b.core, Features: p.features(b.Distributions), Distributions: marked(report.Distributions, p.packages), Files: report.Files, Trees: trees,
		Compiled: b.current.Compiled && len(p.missing()) == 0,
	})
}

// check says what is staged, which is tidy then, or why it must not be published. Of bytecode it stays what is ours.
func (b *build) check(staged store.Staged, packages []lock.Package, ours map[string]bool) (*vet.Report, error) {
	report, err := vet.Check(staged.SitePackages(), b.Description, packages, func(bytecode string) bool { return ours[bytecode] })
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return nil, rejected(err)
	}
	return report, inStore(report.Tidy())
}

// fill installs what is missing and takes the rest over. It returns the files in site-packages that were taken over.
func (b *build) fill(ctx context.Context, p *plan, staged store.Staged) (adopted []manifest.File, err error) {
	if missing := p.missing(); len(missing) > 0 {
		if err := b.installer().Install(ctx, missing, staged.SitePackages()); err != nil {
			return nil, err
		}
	}
	var kept manifest.Manifest
	if kept.Trees, err = b.fillTrees(ctx, p, staged); err != nil {
		return nil, err
	}
	for _, f := range b.current.Files {
		if p.kept[f.Of] {
			kept.Files = append(kept.Files, f)
		}
	}
	return kept.Files, inStore(b.writer.Adopt(staged, b.generation, kept.Placed()))
}

func paths(files []manifest.File) map[string]bool {
	all := make(map[string]bool, len(files))
	for _, f := range files {
		all[f.Path] = true
	}
	return all
}

// publisher is one of the ways to make a generation the current one.
type publisher func(context.Context, store.Staged, manifest.Manifest, func(digest string) ([]byte, error)) (store.Generation, error)

func (b *build) publish(ctx context.Context, as publisher, staged store.Staged, m manifest.Manifest) error {
	bill := func(digest string) ([]byte, error) {
		text, err := sbom.Generate(m, digest)
		if err != nil {
			return nil, rejected(err)
		}
		return text, nil
	}
	_, err := as(ctx, staged, m, bill)
	switch {
	case errors.Is(err, manifest.ErrUnfit):
		return rejected(err)
	case err != nil:
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
