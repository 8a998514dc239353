//go:build linux

package unpack_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
)

// item is an entry of an archive, short to write: the type is guessed where it is not given.
type item struct {
	name, content, link string
	typ                 byte
	mode                int64
	uid, gid            int
	pax                 map[string]string
	major, minor        int64
}

// How tar carries extended attributes, and the one that gives rights.
const (
	paxXattr   = "SCHILY.xattr."
	capability = "security.capability"
)

var when = time.Unix(1_600_000_000, 0)

func archive(t testing.TB, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Linkname: i.link, Typeflag: i.typ, Mode: i.mode, Uid: i.uid, Gid: i.gid,
			ModTime: when, PAXRecords: i.pax, Devmajor: i.major, Devminor: i.minor}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			if strings.HasSuffix(i.name, "/") {
				h.Typeflag = tar.TypeDir
			}
		}
		if h.Mode == 0 {
			h.Mode = 0o644
			if h.Typeflag == tar.TypeDir {
				h.Mode = 0o755
			}
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(i.content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%s: %v", i.name, err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, i.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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
	base := t.TempDir()
	write(t, filepath.Join(base, "outside", "secret"), "untouched")
	dir := filepath.Join(base, "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if o.Owner == nil && os.Getuid() != 0 {
		o.Owner = &unpack.Owner{os.Getuid(), os.Getgid()}
	}
	res, err := packed.Unpack(t.Context(), dir, io.NopCloser(bytes.NewReader(b)), o)
	checkOutside(t, base)
	return dir, res, err
}

func checkOutside(t testing.TB, base string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(base, "outside", "secret")); string(got) != "untouched" {
		t.Errorf("the file outside was changed: %q %v", got, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Join(base, "outside"): 1} {
		if e, err := os.ReadDir(dir); err != nil || len(e) != want {
			t.Errorf("%s holds %v, %v", dir, e, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(base, "outside", "secret"), &st); err != nil || st.Nlink != 1 {
		t.Errorf("the file outside has %d names, %v", st.Nlink, err)
	}
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

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %.80q, %v; want %.80q", path, got, err, want)
	}
}

func stat(t testing.TB, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return st
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
