//go:build linux

// Package packed reads layers of images as they are stored: compressed or not, by whoever
// made them, with the digests by which they are trusted.
//
// The image store calls it. It hands the tar inside to package unpack, which makes the
// files, in this process or in another one that may.
package packed

import (
	"context"
	"io"

	"hermes.example/hermes/internal/image/unpack"
)

// Unpack reads a layer from r (a tar, plain or compressed by gzip or zstd) into the empty directory dir, and
// closes r.
func Unpack(ctx context.Context, dir string, r io.ReadCloser, o unpack.Options) (unpack.Result, error) {
	o = o.WithDefaults()
	s, err := newStream(ctx, r, o)
	if err != nil {
		return unpack.Result{}, err
	}
	defer s.close()
	extract := o.Extract
	if extract == nil {
		extract = unpack.Extract
	}
	res, err := extract(ctx, dir, s, o)
	if err != nil {
		return unpack.Result{}, err
	}
	// What follows the end of the archive is nobody's file, but part of the digests.
	if _, err := io.Copy(io.Discard, s); err != nil {
		return unpack.Result{}, err
	}
	res.Blob, res.Tar = s.sums()
	return res, nil
}

func refuse(why string) error { return &unpack.Refusal{Why: why} }
