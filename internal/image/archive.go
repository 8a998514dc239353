//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
)

// tarFiles are the files in an archive, read where they lie.
type tarFiles struct {
	f     *os.File
	where map[string]section
}

type section struct {
	at, size int64
	link     string
}

func (t *tarFiles) open(name string) (io.ReadCloser, int64, error) {
	for range 10 {
		s, ok := t.where[path.Clean(name)]
		switch {
		case !ok:
			return nil, 0, fmt.Errorf("the archive has no file %.200q", name)
		case s.link == "":
			return io.NopCloser(io.NewSectionReader(t.f, s.at, s.size)), s.size, nil
		}
		name = path.Join(path.Dir(name), s.link)
	}
	return nil, 0, fmt.Errorf("the links of the archive's %.200q do not end", name)
}

// mostFiles is far above what an archive of images holds.
const mostFiles = 100_000

func indexTar(f *os.File) (*tarFiles, error) {
	t := &tarFiles{f: f, where: map[string]section{}}
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is not an archive: %w", err)
		}
		if len(t.where) == mostFiles {
			return nil, fmt.Errorf("it holds more than %d files", mostFiles)
		}
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		switch s := (section{at: at, size: h.Size}); h.Typeflag {
		case tar.TypeSymlink:
			s.link = h.Linkname
			t.where[path.Clean(h.Name)] = s
		case tar.TypeLink:
			if old, ok := t.where[path.Clean(h.Linkname)]; ok {
				t.where[path.Clean(h.Name)] = old
			}
		case tar.TypeReg:
			t.where[path.Clean(h.Name)] = s
		}
	}
}

// findArchive looks an image up in what `docker save` wrote, or in an OCI layout in a tar. One that is
// compressed as a whole is decompressed into scratch first, because its files are read in another order.
func findArchive(ctx context.Context, file, ref, arch, scratch string) (*found, error) {
	f, err := openArchive(ctx, file, scratch)
	if err != nil {
		return nil, err
	}
	fs, err := indexTar(f)
	if err == nil {
		var img *found
		if _, docker := fs.where["manifest.json"]; docker {
			img, err = findSaved(fs, ref)
		} else {
			img, err = findIn(fs, ref, arch)
		}
		if err == nil {
			img.close = func() { f.Close() }
			return img, nil
		}
	}
	f.Close()
	return nil, err
}

func openArchive(ctx context.Context, file, scratch string) (*os.File, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil || !packed.Compressed(head) {
		return f, nil
	}
	defer f.Close()
	out, err := os.OpenFile(filepath.Join(scratch, "archive.tar"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = packed.Decompress(ctx, out, f, unpack.DefaultLimits.Bytes); err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// findSaved reads `docker save`'s own form. It names no digests but those of the tars, in the config.
func findSaved(fs *tarFiles, ref string) (*found, error) {
	raw, err := read(fs, "manifest.json")
	if err != nil {
		return nil, err
	}
	var images tarball.Manifest
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, fmt.Errorf("its manifest.json cannot be read: %w", err)
	}
	chosen, err := pickSaved(images, ref)
	if err != nil {
		return nil, err
	}
	rawConfig, err := read(fs, chosen.Config)
	if err != nil {
		return nil, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(rawConfig))
	if err != nil {
		return nil, fmt.Errorf("its config cannot be read: %w", err)
	}
	if n := len(chosen.Layers); n != len(config.RootFS.DiffIDs) || n > mostLayers {
		return nil, fmt.Errorf("it has %d layers but its config lists %d", n, len(config.RootFS.DiffIDs))
	}
	img := &found{digest: digestOf(rawConfig), config: config}
	for i, layer := range chosen.Layers {
		r, size, err := fs.open(layer)
		if err != nil {
			return nil, err
		}
		r.Close()
		img.blobs = append(img.blobs, blob{diffID: config.RootFS.DiffIDs[i].String(), size: size, open: func(context.Context) (io.ReadCloser, error) {
			r, _, err := fs.open(layer)
			return r, err
		}})
	}
	return img, nil
}

func pickSaved(images tarball.Manifest, ref string) (tarball.Descriptor, error) {
	if ref == "" {
		if len(images) != 1 {
			return tarball.Descriptor{}, fmt.Errorf("it holds %d images; name one with #NAME", len(images))
		}
		return images[0], nil
	}
	want, err := name.ParseReference(ref)
	if err != nil {
		return tarball.Descriptor{}, err
	}
	for _, img := range images {
		for _, tag := range img.RepoTags {
			if got, err := name.ParseReference(tag); err == nil && got.Name() == want.Name() {
				return img, nil
			}
		}
	}
	return tarball.Descriptor{}, fmt.Errorf("it holds no image %q", ref)
}
