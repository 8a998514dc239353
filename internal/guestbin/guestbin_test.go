package guestbin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

func TestTheDigestIsTheGuests(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		data, err := For(arch)
		if err != nil {
			t.Fatalf("%v: run make guest", err)
		}
		sum := sha256.Sum256(data)
		if d, err := Digest(arch); err != nil || d != hex.EncodeToString(sum[:])[:digestLength] {
			t.Errorf("%s: %q, %v", arch, d, err)
		}
	}
	if _, err := Digest("m68k"); err == nil {
		t.Error("a guest for m68k")
	}
}

func TestExtractWritesTheGuestOnce(t *testing.T) {
	dir := t.TempDir()
	path, err := Extract(dir, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Extract(dir, "amd64")
	if err != nil || again != path {
		t.Errorf("%q, %v", again, err)
	}
	want, _ := For("amd64")
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
