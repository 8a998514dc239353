package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/atomicfile"
)

// Publish makes what is staged the current generation. The manifest was made from the staged files, and was vetted; the
// bill of materials is asked for with the digest that it gives the generation. What is wanted follows: features that
// this generation has are wanted from now on, and those that only the last one had are not.
//
// All that is new is brought to the disk at once, under names that nobody looks at. Then come renames only: the
// generation and what is written down about it, in any order, and when these are on the disk the link.
func (w *Writer) Publish(ctx context.Context, staged Staged, m manifest.Manifest, bill func(digest string) ([]byte, error)) (Generation, error) {
	g, err := w.publish(ctx, staged, m, bill, "")
	if err != nil {
		return Generation{}, fmt.Errorf("cannot publish the generation: %w", w.explain(err))
	}
	return g, nil
}

// Replace is Publish for what is the current generation in another form. From then on that one was never there:
// Rollback leads to the one before it.
func (w *Writer) Replace(ctx context.Context, staged Staged, m manifest.Manifest, bill func(digest string) ([]byte, error)) (Generation, error) {
	now, err := w.look()
	var g Generation
	if err == nil {
		g, err = w.publish(ctx, staged, m, bill, now.Digest)
	}
	if err != nil {
		return Generation{}, fmt.Errorf("cannot replace the generation: %w", w.explain(err))
	}
	return g, nil
}

func (w *Writer) publish(ctx context.Context, staged Staged, m manifest.Manifest, bill func(string) ([]byte, error), inPlaceOf string) (Generation, error) {
	g, err := w.complete(ctx, staged, m, bill)
	if err != nil {
		return g, err
	}
	written, err := w.intend(g, m.Names(), inPlaceOf)
	if err != nil {
		return g, err
	}
	if err := ctx.Err(); err != nil {
		return g, err
	}
	if err := syncAll(staged.Dir); err != nil {
		return g, err
	}
	if err := w.arrive(ctx, staged, g); err != nil {
		return g, err
	}
	for _, file := range written {
		if err := atomicfile.Commit(file); err != nil {
			return g, err
		}
	}
	for _, dir := range []string{g.Dir, w.generations(), w.own(), w.private()} {
		if err := atomicfile.SyncDir(dir); err != nil {
			return g, err
		}
	}
	return g, w.lead(g)
}

// complete makes a generation of what is staged, where it is.
func (w *Writer) complete(ctx context.Context, staged Staged, m manifest.Manifest, bill func(string) ([]byte, error)) (Generation, error) {
	if m.ABI != w.abi {
		return Generation{}, fmt.Errorf("it is for %q, and the store for %q", m.ABI, w.abi)
	}
	if filepath.Dir(staged.Dir) != w.staging() {
		return Generation{}, fmt.Errorf("%s was not staged here", staged.Dir)
	}
	if err := unchanged(w.adopted[staged.Dir], m.Placed()); err != nil {
		return Generation{}, err
	}
	var sealing sync.WaitGroup
	var unsealed error
	sealing.Go(func() { unsealed = seal(ctx, staged, m) })
	texts, err := describe(m, bill)
	sealing.Wait()
	if err := cmp.Or(unsealed, err); err != nil {
		return Generation{}, err
	}
	return w.generation(texts.digest), texts.write(staged, m)
}

// intend prepares what is to be written down before a generation becomes current, and says which files that are:
// that it follows the present one, and what is wanted then. Whoever comes after a kill between this and the link
// builds what is wanted, and so ends what was begun.
func (w *Writer) intend(g Generation, features []string, inPlaceOf string) (files []string, err error) {
	if err := w.valid(); err != nil {
		return nil, err
	}
	if !w.isCurrent(g) {
		next, err := w.pastWith(g, inPlaceOf)
		if err == nil {
			err = prepare(w.history(), next)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, w.history())
	}
	before, after, err := w.wantedWith(features)
	if err != nil || slices.Equal(before, after) {
		return files, err
	}
	return append(files, w.desired()), prepare(w.desired(), wanted{1, after})
}

// unchanged compares the files that were taken over with what they are now: a file that somebody changed in the old
// generation must not become a good one of the new.
func unchanged(adopted map[string]manifest.File, now []manifest.File) error {
	for _, f := range now {
		if was, ok := adopted[f.Path]; ok && was != f {
			return fmt.Errorf("%s was changed after it was installed; rebuild the features", f.Path)
		}
	}
	return nil
}

// arrive puts the staged generation among the others. If it is there already it stays, provided that it is whole.
func (w *Writer) arrive(ctx context.Context, staged Staged, g Generation) error {
	if err := w.valid(); err != nil {
		return err
	}
	if _, err := os.Lstat(g.Dir); err == nil {
		problems, err := verify(ctx, g)
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			return nil
		}
		if _, err := w.depart(g.Dir); err != nil {
			return err
		}
	}
	if err := os.Chmod(staged.Dir, 0o755); err != nil {
		return err
	}
	if err := os.Rename(staged.Dir, g.Dir); err != nil {
		return err
	}
	// Not before: a directory that cannot be written cannot get another parent.
	return os.Chmod(g.Dir, dirMode)
}

// depart takes a directory out of its place, whole, and says where it is until it is removed.
func (w *Writer) depart(dir string) (string, error) {
	if err := w.valid(); err != nil {
		return "", err
	}
	away, err := os.MkdirTemp(w.staging(), "")
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // or it could not get another parent
		return "", err
	}
	if err := os.Rename(dir, filepath.Join(away, filepath.Base(dir))); err != nil {
		return "", cmp.Or(err, os.Chmod(dir, info.Mode()))
	}
	return away, atomicfile.SyncDir(filepath.Dir(dir))
}
