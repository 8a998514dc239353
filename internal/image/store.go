//go:build linux

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/rundir"
)

// Store is a directory of images:
//
//	names/HASH.json      what a name stands for; a layer that no name needs may go
//	pulls/HASH/          a fetch under way, with the names of the layers it needs; locked while it is alive
//	layers/DIGEST-HOW/   one unpacked layer, whole; HOW is which options it was unpacked with
//	layers/….part        a layer being unpacked, locked; layers/….gone is one being removed
//
// The store's own lock is held for moments only: to show a layer or a name, or to decide what is garbage.
type Store struct {
	dir string
	Options
}

// Options of a store.
type Options struct {
	// Locks is the directory for locks between processes; the run directory if empty.
	Locks string
	// Architecture of the images, as Go names it; this machine's if empty.
	Architecture string
	// Unpack says what becomes of owners and rights. Its Progress is not used.
	Unpack unpack.Options
	// Owners names the ids that files have on disk, where they are not the archive's own: layers that were
	// unpacked with other ids are other layers.
	Owners string
	// RemoveTree removes what Unpack has made.
	RemoveTree func(ctx context.Context, dir string) error
}

// Open returns the store in dir, which is made if it is missing.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if o.Locks == "" {
		if o.Locks, err = rundir.Find(); err != nil {
			return nil, err
		}
	}
	if o.Architecture == "" {
		o.Architecture = runtime.GOARCH
	}
	if o.Unpack.Overlay == "" {
		o.Unpack.Overlay = unpack.User
	}
	if o.RemoveTree == nil {
		o.RemoveTree = func(_ context.Context, dir string) error { return removeTree(dir) }
	}
	for _, sub := range []string{"names", "pulls", "layers"} {
		// Closed to others: a layer may hold set-id programs and secrets.
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("cannot open the image store: %w", err)
		}
	}
	return &Store{dir, o}, nil
}

// Get returns what name stands for.
func (s *Store) Get(name string) (Image, error) {
	img, err := readImage(s.nameFile(name))
	if errors.Is(err, os.ErrNotExist) {
		return img, fmt.Errorf("cannot find image %q: %w; fetch it first", name, ErrAbsent)
	}
	return img, err
}

// List returns all images, by name.
func (s *Store) List() ([]Image, error) {
	var images []Image
	entries, err := os.ReadDir(filepath.Join(s.dir, "names"))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		img, err := readImage(filepath.Join(s.dir, "names", e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed since the directory was read
		}
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	slices.SortFunc(images, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	return images, err
}

// Tag gives img another name, which keeps its layers for as long as it is there. A sandbox keeps the image that
// it runs on in this way.
func (s *Store) Tag(ctx context.Context, name string, img Image) error {
	lock, err := s.lock(ctx, "store")
	if err != nil {
		return err
	}
	defer lock.Release(true)
	if _, err := s.Dirs(img); err != nil {
		return err
	}
	img.Name = name
	return writeImage(s.nameFile(name), img)
}

// Remove forgets a name. Its layers stay until GC finds that nothing else needs them.
func (s *Store) Remove(ctx context.Context, name string) error {
	lock, err := s.lock(ctx, "store")
	if err != nil {
		return err
	}
	defer lock.Release(true)
	err = os.Remove(s.nameFile(name))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove image %q: %w", name, ErrAbsent)
	}
	return err
}

// Dirs returns the directories of an image's layers as overlayfs wants them: the topmost first, without those
// that a layer above hides as a whole, and none twice: the lower one would add nothing.
func (s *Store) Dirs(img Image) ([]string, error) {
	var dirs []string
	for i, diffID := range slices.Backward(img.Layers) {
		if slices.Contains(img.Layers[i+1:], diffID) {
			continue
		}
		l, err := s.layer(diffID)
		if err != nil {
			return nil, fmt.Errorf("cannot use image %q: %w; fetch it again", img.Name, err)
		}
		dirs = append(dirs, filepath.Join(s.layerDir(diffID), "root"))
		if l.HidesAll {
			break
		}
	}
	return dirs, nil
}

func (s *Store) nameFile(name string) string {
	return filepath.Join(s.dir, "names", short(name)+".json")
}

// short is a file name for any text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// lock waits for one of the store's locks. Stores in different directories share none.
func (s *Store) lock(ctx context.Context, what string) (*rundir.Lock, error) {
	return rundir.Acquire(ctx, s.lockFile(what))
}

func (s *Store) lockFile(what string) string {
	return filepath.Join(s.Locks, "image-"+short(s.dir + "\x00" + what)[:24]+".lock")
}

// tryLock returns nil when somebody else holds the lock.
func (s *Store) tryLock(what string) (*rundir.Lock, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lock, err := s.lock(ctx, what)
	if errors.Is(err, context.Canceled) {
		return nil, nil
	}
	return lock, err
}

func readImage(file string) (Image, error) {
	var img Image
	b, err := atomicfile.Read(file)
	if err != nil {
		return img, err
	}
	if err := json.Unmarshal(b, &img); err != nil {
		return img, fmt.Errorf("cannot read %s: %w; remove the file and fetch the image again", file, err)
	}
	return img, nil
}

func writeImage(file string, img Image) error {
	b, err := json.MarshalIndent(img, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(b, '\n'), 0o600)
}
