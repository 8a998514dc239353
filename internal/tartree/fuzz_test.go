//go:build linux

package tartree

import (
	"archive/tar"
	"bytes"
	"testing"

	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/internal/treetest"
)

// Whatever the bytes are, nothing outside changes and nothing crashes.
func FuzzTree(f *testing.F) {
	f.Add(archive(f, item{Name: "d/"}, file("d/f"), hard("d/h", "d/f")), "")
	f.Add(archive(f, link("o", "../outside"), file("o/secret")), "o")
	f.Add(archive(f, item{Name: "p", Typeflag: tar.TypeFifo}, file("/abs"), item{Name: "a/../../x"}), "")
	f.Add(archive(f, item{Name: "d/", Mode: 0o100}, file("d/f"), item{Name: "d/e/", Mode: 1}), "d")
	f.Fuzz(func(t *testing.T, b []byte, top string) { fuzzed(t, sampletar.Mend(b), top) })
}

// Whatever the entries are, too.
func FuzzTreeEntries(f *testing.F) {
	f.Add("5d/\n0d/f\t\tx\n1d/a\td/f\n0d/a\t\ty", "")
	f.Add("2a\t^/o\n0a/s\t\tevil\n1f\ta/s", "a")
	f.Add("6a\n0/a\t\tx\n5d/\n0d/^/^/s\n2.\t/", "")
	f.Add("5d/\t\t\t100\n0d/f\t\tx\t6755\n5d/a/\t\t\t1\n5d/\t\t\t777\n2d/a\t^\n0d/a/f\t\tx", "d")
	f.Fuzz(func(t *testing.T, text, top string) {
		b, err := sampletar.Archive(sampletar.Parse(text)...)
		if err != nil {
			t.Skip("tar has no such entry")
		}
		fuzzed(t, b, top)
	})
}

func fuzzed(t *testing.T, b []byte, top string) {
	base, dir := treetest.Place(t)
	Unpack(openPath(t, dir), bytes.NewReader(b), Options{Top: top, Limits: Limits{Bytes: 1 << 20, Entries: 100}})
	treetest.CheckOutside(t, base)
}
