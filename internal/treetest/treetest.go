//go:build linux

// Package treetest looks after the trees that tests of unpackers make: the place to unpack in, what may not be
// touched beside it, and what is there afterwards.
//
// Tests use it, and nothing else does.
package treetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const untouched = "untouched"

// Place makes a directory to unpack into, beside a file, outside/secret, that nothing may touch.
func Place(t testing.TB) (base, dir string) {
	t.Helper()
	base = t.TempDir()
	dir = filepath.Join(base, "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Join(base, "outside", "secret"), untouched)
	return base, dir
}

// CheckOutside checks that beside the place all is as it was made.
func CheckOutside(t testing.TB, base string) {
	t.Helper()
	secret := filepath.Join(base, "outside", "secret")
	if got, err := os.ReadFile(secret); string(got) != untouched {
		t.Errorf("the file outside was changed: %q %v", got, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Dir(secret): 1} {
		if e, err := os.ReadDir(dir); err != nil || len(e) != want {
			t.Errorf("%s holds %v, %v", dir, e, err)
		}
	}
	if st := Stat(t, secret); st.Nlink != 1 {
		t.Errorf("the file outside has %d names", st.Nlink)
	}
}

// Write makes a file, and the directories that it lies in.
func Write(t testing.TB, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Holds checks a file's content.
func Holds(t testing.TB, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %.80q, %v; want %.80q", path, got, err, want)
	}
}

// Stat describes what is at a path itself, also if that is a link.
func Stat(t testing.TB, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return st
}
