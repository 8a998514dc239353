//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// atOnce is how many layers of one image are fetched at the same time.
const atOnce = 3

// Pull fetches an image, or what of it is not there yet, and gives it a name. A name that stood for another
// image stands for that one until the new one is whole. Progress may be nil.
func (s *Store) Pull(ctx context.Context, name string, from Source, p Progress) (Image, error) {
	img, err := s.pull(ctx, name, from, p)
	if err != nil {
		return Image{}, fmt.Errorf("cannot fetch image %q: %w", from, err)
	}
	return img, nil
}

func (s *Store) pull(ctx context.Context, name string, from Source, p Progress) (Image, error) {
	lock, err := s.lock(ctx, "pull "+short(name))
	if err != nil {
		return Image{}, err
	}
	defer lock.Release(true)
	scratch := filepath.Join(s.dir, "pulls", short(name))
	if err := errors.Join(removeTree(scratch), os.Mkdir(scratch, 0o700)); err != nil {
		return Image{}, err
	}
	defer func() { _ = removeTree(scratch) }() // what stays is the next GC's
	src, err := from.find(ctx, s.Architecture, scratch)
	if err != nil {
		return Image{}, err
	}
	defer src.close()
	img := Image{Name: name, Source: from.String(), Digest: src.digest, Architecture: src.config.Architecture, Fetched: time.Now().UTC()}
	if img.Config, err = configOf(src.config); err != nil {
		return Image{}, err
	}
	if a := img.Architecture; a != "" && a != s.Architecture {
		return Image{}, fmt.Errorf("it is for %s, not for %s", a, s.Architecture)
	}
	for _, b := range src.blobs {
		if !validDigest(b.diffID) {
			return Image{}, fmt.Errorf("%.100q is no digest of a layer", b.diffID)
		}
		img.Layers = append(img.Layers, b.diffID)
	}
	if err := s.announce(ctx, scratch, img); err != nil {
		return Image{}, err
	}
	if img.Bytes, err = s.fetchAll(ctx, src.blobs, p); err != nil {
		return Image{}, err
	}
	return img, s.Tag(ctx, name, img)
}

// announce tells GC which layers this fetch needs, before it looks which of them are there.
func (s *Store) announce(ctx context.Context, scratch string, img Image) error {
	lock, err := s.lock(ctx, "store")
	if err != nil {
		return err
	}
	defer lock.Release(true)
	return writeImage(filepath.Join(scratch, "image.json"), img)
}

// fetchAll fetches several layers at once; the first error ends the others.
func (s *Store) fetchAll(ctx context.Context, blobs []blob, p Progress) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		bytes int64
		free  = make(chan struct{}, atOnce)
	)
	for _, b := range blobs {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			l, err := s.fetch(ctx, b, reporter(p, b))
			if err != nil {
				cancel(fmt.Errorf("layer %s: %w", b.diffID, err))
				return
			}
			mu.Lock()
			bytes += l.Bytes
			mu.Unlock()
		})
	}
	wg.Wait()
	return bytes, context.Cause(ctx)
}

func reporter(p Progress, b blob) func(int64) {
	digest := b.digest
	if digest == "" {
		digest = b.diffID
	}
	return func(done int64) {
		if p != nil {
			p.Layer(digest, done, b.size)
		}
	}
}
