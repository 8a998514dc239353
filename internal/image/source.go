//go:build linux

package image

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// found is an image that was looked up but whose layers are not fetched yet. Its parts agree with its digests.
type found struct {
	digest string
	config *v1.ConfigFile
	blobs  []blob
	close  func()
}

// blob is a layer as it is stored at its source.
type blob struct {
	digest  string // of the bytes as they come; "" where the source does not say
	checked bool   // the reader itself fails if they have another digest
	diffID  string // of the tar in them
	size    int64
	open    opener
}

// find looks an image up. Scratch is a directory for what does not fit into memory.
func (s Source) find(ctx context.Context, arch, scratch string) (*found, error) {
	switch s.kind {
	case layoutKind:
		return findLayout(s.path, s.ref, arch)
	case archiveKind:
		return findArchive(ctx, s.path, s.ref, arch, scratch)
	}
	return findRemote(ctx, s.ref, arch)
}

func findRemote(ctx context.Context, text, arch string) (*found, error) {
	ref, err := name.ParseReference(text)
	if err != nil {
		return nil, err
	}
	img, err := remote.Image(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}), remote.WithUserAgent("hermes"))
	if err != nil {
		return nil, err
	}
	raw, err := img.RawManifest()
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if err := checkManifest(m); err != nil {
		return nil, err
	}
	rawConfig, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	f, err := assemble(raw, m, rawConfig, func(d v1.Descriptor) (opener, error) {
		l, err := img.LayerByDigest(d.Digest)
		if err != nil {
			return nil, err
		}
		return func(context.Context) (io.ReadCloser, error) { return l.Compressed() }, nil
	})
	if err != nil {
		return nil, err
	}
	for i := range f.blobs {
		f.blobs[i].checked = true
	}
	return f, nil
}

type opener = func(context.Context) (io.ReadCloser, error)

// A manifest or a config beyond these is not one.
const (
	largestText = 8 << 20
	mostLayers  = 512
)

// checkManifest comes before anything that the manifest names is read. Layers that lie at an address of the
// image's choice are not fetched: it could be one that only this machine can reach.
func checkManifest(m *v1.Manifest) error {
	if m.Config.Size > largestText {
		return fmt.Errorf("its config has %d bytes, more than %d", m.Config.Size, largestText)
	}
	if len(m.Layers) > mostLayers {
		return fmt.Errorf("it has %d layers, more than %d", len(m.Layers), mostLayers)
	}
	for _, l := range m.Layers {
		if len(l.URLs) > 0 || !l.MediaType.IsLayer() || !l.MediaType.IsDistributable() {
			return fmt.Errorf("its layer %s (%s) is not a file system layer of this registry", l.Digest, l.MediaType)
		}
		if l.Digest.Algorithm != "sha256" {
			return fmt.Errorf("its layer %s has no sha256 digest", l.Digest)
		}
	}
	return nil
}

// assemble checks that manifest and config belong together.
func assemble(raw []byte, m *v1.Manifest, rawConfig []byte, open func(v1.Descriptor) (opener, error)) (*found, error) {
	if got := digestOf(rawConfig); got != m.Config.Digest.String() {
		return nil, fmt.Errorf("its config has the digest %s instead of %s: the source is damaged", got, m.Config.Digest)
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(rawConfig))
	if err != nil {
		return nil, fmt.Errorf("its config cannot be read: %w", err)
	}
	if len(config.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("it has %d layers but its config lists %d", len(m.Layers), len(config.RootFS.DiffIDs))
	}
	f := &found{digest: digestOf(raw), config: config, close: func() {}}
	for i, l := range m.Layers {
		o, err := open(l)
		if err != nil {
			return nil, err
		}
		f.blobs = append(f.blobs, blob{digest: l.Digest.String(), diffID: config.RootFS.DiffIDs[i].String(), size: l.Size, open: o})
	}
	return f, nil
}
