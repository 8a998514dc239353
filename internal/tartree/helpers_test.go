//go:build linux

package tartree

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

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// item is an entry of an archive, short to write: the type is guessed where it is not given.
type item struct {
	name, content, link string
	typ                 byte
	mode                int64
}

var when = time.Unix(1_600_000_000, 0)

func archive(t testing.TB, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Linkname: i.link, Typeflag: i.typ, Mode: i.mode, Size: int64(len(i.content)), ModTime: when, Uid: 4321, Gid: 4321}
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
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%s: %v", i.name, err)
		}
		if _, err := io.WriteString(w, i.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// place makes a directory to unpack into, beside a file that nothing may touch.
func place(t testing.TB) (base, dir string) {
	t.Helper()
	base = t.TempDir()
	dir = filepath.Join(base, "root")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(filepath.Join(base, "outside"), 0o755)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, "outside", "secret"), "untouched")
	return base, dir
}

// into unpacks into dir.
func into(t testing.TB, dir string, b []byte, o Options) (Result, error) {
	t.Helper()
	fd := openPath(t, dir)
	res, err := Unpack(fd, bytes.NewReader(b), o)
	for path := range walk(t, dir) {
		if strings.HasPrefix(filepath.Base(path), ".hermes-") {
			t.Errorf("a temporary file is left: %s", path)
		}
	}
	return res, err
}

// packed packs what a path stands for.
func packed(t testing.TB, path, as string, l Limits) ([]byte, Result, error) {
	t.Helper()
	var out bytes.Buffer
	res, err := Pack(&out, openPath(t, path), as, l)
	return out.Bytes(), res, err
}

func openPath(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// walk describes every entry below dir.
func walk(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(content)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		}
		found[strings.TrimPrefix(path, dir+"/")] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(t testing.TB, b []byte) []string {
	t.Helper()
	var found []string
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, h.Name)
	}
}

func checkOutside(t testing.TB, base string) {
	t.Helper()
	secret := filepath.Join(base, "outside", "secret")
	if got, err := os.ReadFile(secret); string(got) != "untouched" {
		t.Errorf("the file outside was changed: %q %v", got, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Dir(secret): 1} {
		if e, err := os.ReadDir(dir); err != nil || len(e) != want {
			t.Errorf("%s holds %v, %v", dir, e, err)
		}
	}
	if st := stat(t, secret); st.Nlink != 1 {
		t.Errorf("the file outside has %d names", st.Nlink)
	}
}

func refused(t testing.TB, err error, why string) {
	t.Helper()
	var r *rooted.Refusal
	if !errors.As(err, &r) || !strings.Contains(err.Error(), why) {
		t.Errorf("want a refusal because %q, got %v", why, err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
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
