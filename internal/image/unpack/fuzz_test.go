//go:build linux

package unpack_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"testing"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/internal/treetest"
)

// Whatever the bytes are, nothing outside changes and nothing crashes.
func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, item{Name: "d/"}, item{Name: "d/f", Content: "x"}, item{Name: "d/h", Typeflag: tar.TypeLink, Link: "d/f"}))
	f.Add(archive(f, item{Name: "o", Typeflag: tar.TypeSymlink, Link: "../outside"}, item{Name: "o/secret", Content: "x"}))
	f.Add(archive(f, item{Name: ".wh.a"}, item{Name: "a/.wh..wh..opq"}, item{Name: "a/", PAX: map[string]string{paxXattr + "user.x": "y"}}))
	f.Add(gzipped(f, archive(f, item{Name: "p", Typeflag: tar.TypeFifo}, item{Name: "/abs", Content: "x"})))
	f.Add(zstded(f, archive(f, item{Name: "a/../../x"})))
	f.Add(sparseBomb())
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("\x1f\x8b")) && !bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")) { // gzip and zstd
			b = sampletar.Mend(b)
		}
		fuzzed(t, b)
	})
}

// Whatever the entries are, too.
func FuzzUnpackEntries(f *testing.F) {
	f.Add("5d/\n0d/f\t\tx\n1d/a\td/f\n0d/a\t\ty")
	f.Add("5o/\n2d\t^/o\n0d/s\t\tevil\n1f\td/s\n2a\taa\n2aa\ta\n0a/f")
	f.Add("0wa\n0a/q\n5a/\n0a/f\t\tx\n0a/wf\n0wwd/f")
	f.Add("6a\n0/f\t\tx\n0d/^/^/s\n3d\n2.\t/")
	f.Add("5d/\t\t\t100\n0d/f\t\tx\t6755\n5d/a/\t\t\t1\n5d/\t\t\t777\n2d/a\t^\n0d/a/f\t\tx")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := sampletar.Archive(sampletar.Parse(text)...)
		if err != nil {
			t.Skip("tar has no such entry")
		}
		fuzzed(t, b)
	})
}

func fuzzed(t *testing.T, b []byte) {
	base, dir := treetest.Place(t)
	o := unpack.Options{HashBlob: true, Owner: &unpack.Owner{UID: os.Getuid(), GID: os.Getgid()}, Limits: unpack.Limits{Bytes: 1 << 20, Entries: 100, Depth: 10}}
	res, err := packed.Unpack(t.Context(), dir, io.NopCloser(bytes.NewReader(b)), o)
	treetest.CheckOutside(t, base)
	if err == nil && res.Blob != sum(b) {
		t.Errorf("digest %s", res.Blob)
	}
}
