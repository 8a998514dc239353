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

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/sampletar"
)

type item = sampletar.Entry

// archive makes an archive of somebody else's files.
func archive(t testing.TB, items ...item) []byte {
	t.Helper()
	for i := range items {
		items[i].UID, items[i].GID = 4321, 4321
	}
	b, err := sampletar.Archive(items...)
	if err != nil {
		t.Fatal(err)
	}
	return b
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

func refused(t testing.TB, err error, why string) {
	t.Helper()
	var r *rooted.Refusal
	if !errors.As(err, &r) || !strings.Contains(err.Error(), why) {
		t.Errorf("want a refusal because %q, got %v", why, err)
	}
}
