package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDigestIsThePrograms(t *testing.T) {
	for _, program := range []Program{Guest, Init} {
		for _, arch := range []string{"amd64", "arm64"} {
			data, err := program.For(arch)
			if err != nil {
				t.Fatalf("%v: run make guest", err)
			}
			sum := sha256.Sum256(data)
			if d, err := program.Digest(arch); err != nil || d != hex.EncodeToString(sum[:])[:digestLength] {
				t.Errorf("%s for %s: %q, %v", program, arch, d, err)
			}
		}
		if _, err := program.Digest("m68k"); err == nil {
			t.Errorf("a %s for m68k", program)
		}
	}
}

func TestExtractWritesTheProgramOnce(t *testing.T) {
	dir := t.TempDir()
	path, err := Guest.Extract(dir, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(path), "guest-") {
		t.Errorf("its name is %s", path)
	}
	again, err := Guest.Extract(dir, "amd64")
	if err != nil || again != path {
		t.Errorf("%q, %v", again, err)
	}
	want, _ := Guest.For("amd64")
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
