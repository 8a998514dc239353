//go:build linux

package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// files are the named files of an OCI layout, in a directory or in an archive.
type files interface {
	open(name string) (io.ReadCloser, int64, error)
}

// dirFiles never leave their directory, whatever the links in it say.
type dirFiles struct{ root *os.Root }

func (d dirFiles) open(name string) (io.ReadCloser, int64, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a file", name)
	}
	f, err := d.root.Open(name)
	return f, info.Size(), err
}

func findLayout(dir, ref, arch string) (*found, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f, err := findIn(dirFiles{root}, ref, arch)
	if err != nil {
		root.Close()
		return nil, err
	}
	f.close = func() { root.Close() }
	return f, nil
}

// findIn looks an image up in a layout.
func findIn(fs files, ref, arch string) (*found, error) {
	index, err := read(fs, "index.json")
	if err != nil {
		return nil, fmt.Errorf("it is not an OCI layout: %w", err)
	}
	raw, err := pick(fs, index, ref, arch, 3)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if err := checkManifest(m); err != nil {
		return nil, err
	}
	config, err := readBlob(fs, m.Config.Digest)
	if err != nil {
		return nil, err
	}
	return assemble(raw, m, config, func(d v1.Descriptor) (opener, error) {
		return func(context.Context) (io.ReadCloser, error) {
			r, _, err := fs.open(blobName(d.Digest))
			return r, err
		}, nil
	})
}

// refName is where a layout keeps an image's tag.
const refName = "org.opencontainers.image.ref.name"

// pick finds the one manifest that is meant, through indexes of indexes.
func pick(fs files, index []byte, ref, arch string, deep int) ([]byte, error) {
	parsed, err := v1.ParseIndexManifest(bytes.NewReader(index))
	if err != nil {
		return nil, fmt.Errorf("its index cannot be read: %w", err)
	}
	var fits []v1.Descriptor
	for _, d := range parsed.Manifests {
		if ref != "" && d.Annotations[refName] != ref && d.Digest.String() != ref {
			continue
		}
		if p := d.Platform; p != nil && (p.OS != "linux" || p.Architecture != arch) {
			continue
		}
		if d.MediaType.IsImage() || d.MediaType.IsIndex() {
			fits = append(fits, d)
		}
	}
	if len(fits) == 0 {
		return nil, fmt.Errorf("it holds no image %q for linux/%s", ref, arch)
	}
	if len(fits) > 1 {
		return nil, fmt.Errorf("it holds %d images for linux/%s; name one with #NAME", len(fits), arch)
	}
	raw, err := readBlob(fs, fits[0].Digest)
	if err != nil || fits[0].MediaType.IsImage() {
		return raw, err
	}
	if deep == 0 {
		return nil, errors.New("its indexes lie in each other without end")
	}
	return pick(fs, raw, "", arch, deep-1)
}

func blobName(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// readBlob reads a small blob and checks its digest.
func readBlob(fs files, h v1.Hash) ([]byte, error) {
	b, err := read(fs, blobName(h))
	if err != nil {
		return nil, err
	}
	if got := digestOf(b); got != h.String() {
		return nil, fmt.Errorf("%s has the digest %s: the source is damaged", blobName(h), got)
	}
	return b, nil
}

func read(fs files, name string) ([]byte, error) {
	r, size, err := fs.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > largestText {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, size, largestText)
	}
	return io.ReadAll(io.LimitReader(r, size))
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
