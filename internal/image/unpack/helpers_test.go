//go:build linux

package unpack_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/internal/treetest"
)

type item = sampletar.Entry

// How tar carries extended attributes, and the one that gives rights.
const (
	paxXattr   = "SCHILY.xattr."
	capability = "security.capability"
)

func archive(t testing.TB, items ...item) []byte {
	t.Helper()
	b, err := sampletar.Archive(items...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}

// into unpacks into a new directory that lies beside a file that nothing may touch.
func into(t testing.TB, b []byte, o unpack.Options) (string, unpack.Result, error) {
	t.Helper()
	base, dir := treetest.Place(t)
	if o.Owner == nil && os.Getuid() != 0 {
		o.Owner = &unpack.Owner{os.Getuid(), os.Getgid()}
	}
	res, err := packed.Unpack(t.Context(), dir, io.NopCloser(bytes.NewReader(b)), o)
	treetest.CheckOutside(t, base)
	return dir, res, err
}

func unpacked(t testing.TB, o unpack.Options, items ...item) string {
	t.Helper()
	dir, _, err := into(t, archive(t, items...), o)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func refused(t testing.TB, err error, why string) {
	t.Helper()
	var r *unpack.Refusal
	if !errors.As(err, &r) || !strings.Contains(err.Error(), why) {
		t.Errorf("want a refusal because %q, got %v", why, err)
	}
}

func xattr(path, name string) string {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(path, name, buf)
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(buf[:n])
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: only root may give files to others")
	}
}
