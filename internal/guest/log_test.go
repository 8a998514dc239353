//go:build linux

package guest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"hermes.example/hermes/internal/wire"
)

const logName = "proc_0123456789ab"

// logDir is the directory of a process's log, and what it is in.
func logDir(t *testing.T) (parent *os.File, path string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, logName), 0o700); err != nil {
		t.Fatal(err)
	}
	parent, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { parent.Close() })
	return parent, filepath.Join(dir, logName)
}

// onDisk is how many bytes the files of a directory have.
func onDisk(t *testing.T, dir string) (bytes int64, names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
		names = append(names, e.Name())
	}
	return bytes, names
}

func TestALogIsExactOrTellsTheGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, bound := range []int64{1000, 64 << 10, 300_000, 1 << 20} {
		parent, dir := logDir(t)
		var together atomic.Int64
		o := newLog(newLogFile(parent, logName, bound, &together))
		var all []byte
		for len(all) < 700_000 {
			p := make([]byte, 1+rng.IntN(5000))
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			all = append(all, p...)
			o.Write(p)
			disk, _ := onDisk(t, dir)
			if disk > bound || disk != together.Load() {
				t.Fatalf("bound %d: %d bytes are on disk and %d on the books", bound, disk, together.Load())
			}
		}
		check := func(o *output) {
			t.Helper()
			for _, offset := range []int64{0, 5, int64(len(all)) - bound, int64(len(all)) - 7, int64(len(all))} {
				offset = max(0, offset)
				data, gap := readAll(t, o, offset)
				if int64(len(data))+gap != int64(len(all))-offset || !bytes.HasSuffix(all, data) {
					t.Fatalf("bound %d offset %d: %d bytes, a gap of %d, or wrong bytes", bound, offset, len(data), gap)
				}
			}
			if data, _ := readAll(t, o, 0); int64(len(data)) < min(bound*3/4, int64(len(all))) {
				t.Errorf("bound %d: only %d bytes are kept", bound, len(data))
			}
		}
		check(o)
		// Another guest finds the same.
		_, names := onDisk(t, dir)
		again := newLogFile(parent, logName, bound, new(atomic.Int64))
		again.load(names)
		check(newLog(again))
	}
}

// Whatever moment the guest is killed in, it has written a part of the last write.
func TestALogThatWasCutShortCanBeRead(t *testing.T) {
	parent, dir := logDir(t)
	l := newLogFile(parent, logName, 80_000, new(atomic.Int64))
	o := newLog(l)
	data := bytes.Repeat([]byte("0123456789"), 5000)
	for p := data; len(p) > 0; p = p[1000:] {
		o.Write(p[:1000])
	}
	_, names := onDisk(t, dir)
	last := filepath.Join(dir, names[len(names)-1])
	info, err := os.Stat(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(last, info.Size()-333); err != nil {
		t.Fatal(err)
	}
	again := newLogFile(parent, logName, 80_000, new(atomic.Int64))
	again.load(names)
	got, gap := readAll(t, newLog(again), 0)
	if gap != 0 || !bytes.Equal(got, data[:len(data)-333]) {
		t.Errorf("%d bytes and a gap of %d, not %d bytes", len(got), gap, len(data)-333)
	}
	// A part that is missing in the middle is a gap with all before it.
	if err := os.Remove(filepath.Join(dir, names[1])); err != nil {
		t.Fatal(err)
	}
	again = newLogFile(parent, logName, 80_000, new(atomic.Int64))
	again.load(slices.Delete(slices.Clone(names), 1, 2))
	got, gap = readAll(t, newLog(again), 0)
	if gap == 0 || int64(len(got))+gap != int64(len(data)-333) || !bytes.HasSuffix(data[:len(data)-333], got) {
		t.Errorf("%d bytes and a gap of %d", len(got), gap)
	}
}

func TestReadersOfALogDoNotSlowTheWriter(t *testing.T) {
	parent, _ := logDir(t)
	o := newLog(newLogFile(parent, logName, 10_000, new(atomic.Int64)))
	f := o.follow(0)
	defer f.Close()
	for i := range 100 {
		o.Write(bytes.Repeat([]byte{byte(i)}, 1000)) // would wait for ever
	}
	gap, n, err := f.Next(make([]byte, 100), func() int64 { return -1 })
	if gap < 80_000 || n != 0 || err != nil {
		t.Errorf("the reader gets a gap of %d, %d bytes, %v", gap, n, err)
	}
}

// A log that cannot be written loses bytes, and nothing else does.
func TestALogWithoutDiskLosesOnlyTheLog(t *testing.T) {
	parent, dir := logDir(t)
	o := newLog(newLogFile(parent, logName, 8000, new(atomic.Int64)))
	o.Write(bytes.Repeat([]byte("a"), 3000))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	o.Write(bytes.Repeat([]byte("b"), 3000))
	if start, end := o.bounds(); end != 6000 || start > end {
		t.Errorf("offsets are %d and %d", start, end)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 { // however much it takes until it notices
		o.Write(bytes.Repeat([]byte("c"), 3000))
	}
	if data, gap := readAll(t, o, 0); int64(len(data))+gap != 15_000 || !bytes.HasSuffix(data, []byte("ccc")) {
		t.Errorf("%d bytes and a gap of %d", len(data), gap)
	}
}

func TestTheLastLinesOfALog(t *testing.T) {
	parent, _ := logDir(t)
	o := newLog(newLogFile(parent, logName, 1<<20, new(atomic.Int64)))
	long := string(bytes.Repeat([]byte("x"), 100_000))
	o.Write([]byte("one\ntwo\n" + long + "\nfour\nfive\n"))
	tail := func(lines int) string {
		data, _ := readAll(t, o, o.place(wire.Log{Lines: lines}))
		return string(data)
	}
	for lines, want := range map[int]string{1: "five\n", 2: "four\nfive\n", 3: long + "\nfour\nfive\n", 4: "two\n" + long + "\nfour\nfive\n"} {
		if got := tail(lines); got != want {
			t.Errorf("the last %d lines have %d bytes, not %d", lines, len(got), len(want))
		}
	}
	if got := tail(100); len(got) != 8+100_000+1+10 {
		t.Errorf("all lines have %d bytes", len(got))
	}
	o.Write([]byte("half"))
	if got := tail(2); got != "five\nhalf" {
		t.Errorf("with a line that has not ended: %q", got)
	}
	if got := o.place(wire.Log{Offset: -4}); got != o.size()-4 {
		t.Errorf("four bytes before the end is %d of %d", got, o.size())
	}
}
