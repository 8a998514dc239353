package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree writes files with their modes and times of now, whatever those are.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func packed(t *testing.T, version string) string {
	t.Helper()
	programs := tree(t, map[string]string{"hermes-linux-amd64": "elf", "hermes-windows-amd64": "pe"})
	share := tree(t, map[string]string{"README.md": "read", "completions/hermes.bash": "complete"})
	if err := os.Chtimes(filepath.Join(share, "README.md"), time.Now(), time.Unix(int64(len(share)), 0)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "dist")
	if err := pack(programs, share, to, version, time.Unix(1700000000, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	read := func(dir string) string {
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(sums)
	}
	first, second := read(packed(t, "v1")), read(packed(t, "v1"))
	if first != second {
		t.Errorf("first\n%sthen\n%s", first, second)
	}
	if lines := strings.Split(strings.TrimSpace(first), "\n"); len(lines) != 2 || len(lines[0]) != 64+2+len("hermes-v1-linux-amd64.tar.gz") {
		t.Errorf("the sums are %q", lines)
	}
	if read(packed(t, "v2")) == first {
		t.Error("another version has the same sums")
	}
}

func TestArchivesAreWhole(t *testing.T) {
	dir := packed(t, "v1")
	want := []string{"-rwxr-xr-x hermes-v1-linux-amd64/hermes elf", "-rw-r--r-- hermes-v1-linux-amd64/README.md read", "-rw-r--r-- hermes-v1-linux-amd64/completions/hermes.bash complete"}
	if got := readTar(t, filepath.Join(dir, "hermes-v1-linux-amd64.tar.gz")); !slices.Equal(got, want) {
		t.Errorf("the tar has %q", got)
	}
	z, err := zip.OpenReader(filepath.Join(dir, "hermes-v1-windows-amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if f := z.File[0]; len(z.File) != 3 || f.Name != "hermes-v1-windows-amd64/hermes.exe" || f.Mode() != 0o755 || f.Modified.Unix() != 1700000000 {
		t.Errorf("the zip has %v", f.FileHeader)
	}
}

func readTar(t *testing.T, path string) (files []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is of %d %q, %s", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		files = append(files, fs.FileMode(h.Mode).String()+" "+h.Name+" "+string(content))
	}
}

func TestNothingToPackIsAnError(t *testing.T) {
	if err := pack(t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "dist"), "v1", time.Unix(0, 0)); err == nil {
		t.Error("nothing was packed")
	}
}
