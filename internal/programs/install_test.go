package programs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/entry"
)

func TestInstallGivesTheInitItsNames(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time nothing is in the way
		if err := InstallInit(dir, "arm64"); err != nil {
			t.Fatal(err)
		}
	}
	for program, at := range map[Program]string{Init: entry.Init, Shim: entry.Shim} {
		want, err := program.For("arm64")
		if err != nil {
			t.Fatalf("%v: run make guest", err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, at)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v", at, len(got), err)
		}
	}
	for _, link := range entry.Links {
		if to, err := os.Readlink(filepath.Join(dir, link.Name)); err != nil || to != link.To {
			t.Errorf("%s leads to %q, %v", link.Name, to, err)
		}
	}
}

func TestInstallTakesNoNameAway(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "usr/bin/tini")
	if err := os.MkdirAll(filepath.Dir(other), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := InstallInit(dir, "amd64"); err == nil || !strings.Contains(err.Error(), "/usr/bin/tini") {
		t.Errorf("the error is %v", err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "another" {
		t.Errorf("it is %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "init")); !os.IsNotExist(err) {
		t.Errorf("half of it was installed: %v", err)
	}
}

func TestInstallStaysInTheRoot(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "opt")); err != nil {
		t.Fatal(err)
	}
	if err := InstallInit(dir, "amd64"); err == nil {
		t.Error("it was installed through a link")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside are %v, %v", entries, err)
	}
}
