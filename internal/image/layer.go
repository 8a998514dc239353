//go:build linux

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/image/packed"
)

// layer is what the store notes beside an unpacked layer.
type layer struct {
	DiffID   string `json:"diffID"`
	Bytes    int64  `json:"bytes"`
	Entries  int    `json:"entries"`
	HidesAll bool   `json:"hidesAll,omitempty"`
}

const (
	part = ".part"
	gone = ".gone"
)

// layerDir holds the same tar unpacked in the same way, and nothing else ever.
func (s *Store) layerDir(diffID string) string {
	return filepath.Join(s.dir, "layers", strings.TrimPrefix(diffID, "sha256:")+"-"+s.how())
}

// how names the options that change what is on the disk.
func (s *Store) how() string {
	o := s.Unpack
	how, _, _ := strings.Cut(string(o.Overlay), ".")
	how += fmt.Sprintf("-%d%d", o.Devices, o.Setuid)
	if o.Owner != nil {
		how += fmt.Sprintf("-%d-%d", o.Owner.UID, o.Owner.GID)
	}
	if s.Owners != "" {
		how += "-" + s.Owners
	}
	return how
}

func (s *Store) layer(diffID string) (layer, error) {
	var l layer
	if !validDigest(diffID) {
		return l, fmt.Errorf("%.100q is no digest of a layer", diffID)
	}
	b, err := atomicfile.Read(filepath.Join(s.layerDir(diffID), "layer.json"))
	if errors.Is(err, os.ErrNotExist) {
		return l, fmt.Errorf("the layer %s is not in the store: %w", diffID, os.ErrNotExist)
	}
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	return l, err
}

// validDigest keeps everything that is not 64 hexadecimal digits out of paths.
func validDigest(digest string) bool {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// fetch makes sure that a layer is in the store. Of several that want the same one, one fetches it and the
// others wait and find it.
func (s *Store) fetch(ctx context.Context, b blob, progress func(done int64)) (layer, error) {
	if l, err := s.layer(b.diffID); !errors.Is(err, os.ErrNotExist) {
		progress(b.size)
		return l, err
	}
	dir := s.layerDir(b.diffID)
	lock, err := s.lock(ctx, filepath.Base(dir))
	if err != nil {
		return layer{}, err
	}
	defer lock.Release(true)
	if l, err := s.layer(b.diffID); !errors.Is(err, os.ErrNotExist) {
		progress(b.size)
		return l, err
	}
	// A part that is there was left by somebody who died: the lock is ours.
	if err := s.RemoveTree(ctx, dir+part); err != nil {
		return layer{}, err
	}
	l, err := s.unpack(ctx, dir+part, b, progress)
	if err == nil {
		err = publish(dir+part, dir)
	}
	if err != nil {
		return layer{}, errors.Join(err, s.RemoveTree(context.WithoutCancel(ctx), dir+part))
	}
	return l, nil
}

// unpack fills the directory of a layer and checks that it is the one that was asked for.
func (s *Store) unpack(ctx context.Context, dir string, b blob, progress func(int64)) (layer, error) {
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return layer{}, err
	}
	r, err := b.open(ctx)
	if err != nil {
		return layer{}, err
	}
	// A connection may be silent for ever; closing it ends the read.
	defer context.AfterFunc(ctx, func() { r.Close() })()
	o := s.Unpack
	o.Progress, o.HashBlob = progress, b.digest != "" && !b.checked
	res, err := packed.Unpack(ctx, root, r, o)
	if err != nil {
		return layer{}, err
	}
	if got := "sha256:" + res.Blob; o.HashBlob && got != b.digest {
		return layer{}, fmt.Errorf("its digest is %s instead of %s: it was damaged or changed on the way", got, b.digest)
	}
	if got := "sha256:" + res.Tar; got != b.diffID {
		return layer{}, fmt.Errorf("its content has the digest %s instead of %s: it was damaged or changed on the way", got, b.diffID)
	}
	l := layer{b.diffID, res.Bytes, res.Entries, res.HidesAll}
	text, err := json.Marshal(l)
	if err != nil {
		return layer{}, err
	}
	return l, os.WriteFile(filepath.Join(dir, "layer.json"), text, 0o600)
}

// publish shows a whole layer under its name, after all of it is on the disk.
func publish(from, to string) error {
	parent, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer parent.Close()
	// One call for thousands of files; a sync of each would wait for the disk each time.
	if err := unix.Syncfs(int(parent.Fd())); err != nil {
		return fmt.Errorf("cannot sync %s: %w", from, err)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return parent.Sync()
}
