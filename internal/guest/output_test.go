//go:build linux

package guest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

func ringIn(t *testing.T) func() (*os.File, error) {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return spoolDir{dir}.newRing
}

// readAll follows o from offset to its end and returns what came and how much was missing.
func readAll(t *testing.T, o *output, offset int64) (data []byte, gap int64) {
	t.Helper()
	f := o.follow(offset)
	defer f.Close()
	buf := make([]byte, 3000)
	for {
		g, n, err := f.Next(buf, func() int64 { return o.end })
		gap += g
		data = append(data, buf[:n]...)
		if err == io.EOF {
			return data, gap
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayIsExactOrTellsTheGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, window := range []int64{1000, inMemory, 200_000} {
		o := newOutput(window, ringIn(t))
		var all []byte
		for len(all) < 700_000 {
			p := make([]byte, 1+rng.IntN(5000))
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			all = append(all, p...)
			o.Write(p)
		}
		kept := all[int64(len(all))-window:]
		for _, offset := range []int64{0, 5, int64(len(all)) - window, int64(len(all)) - 7, int64(len(all))} {
			data, gap := readAll(t, o, offset)
			if int64(len(data))+gap != int64(len(all))-offset {
				t.Fatalf("window %d offset %d: %d bytes and a gap of %d", window, offset, len(data), gap)
			}
			if !bytes.HasSuffix(kept, data) {
				t.Errorf("window %d offset %d: wrong bytes", window, offset)
			}
			if offset >= int64(len(all))-window && gap != 0 {
				t.Errorf("window %d offset %d: gap %d inside the window", window, offset, gap)
			}
		}
	}
}

func TestAFollowerSlowsTheWriterAndLosesNothing(t *testing.T) {
	o := newOutput(10_000, ringIn(t))
	f := o.follow(0)
	limit := func() int64 { return 100_000 }
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 100 {
			o.Write(bytes.Repeat([]byte{byte(i)}, 1000))
		}
	}()
	select {
	case <-written:
		t.Fatal("the writer did not wait for the follower")
	case <-time.After(50 * time.Millisecond):
	}
	var got []byte
	buf := make([]byte, 777)
	for {
		gap, n, err := f.Next(buf, limit)
		if gap != 0 {
			t.Fatalf("gap %d", gap)
		}
		got = append(got, buf[:n]...)
		if err != nil {
			break
		}
	}
	if len(got) != 100_000 || got[99_999] != 99 {
		t.Errorf("%d bytes", len(got))
	}
	<-written
}

func TestAClosedFollowerReleasesTheWriter(t *testing.T) {
	o := newOutput(100, nil)
	f := o.follow(0)
	done := make(chan struct{})
	go func() { o.Write(make([]byte, 10_000)); close(done) }()
	f.Close()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the writer still waits")
	}
}

func TestAFullDiskCostsTheReplayNotTheOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	o := newOutput(4<<20, func() (*os.File, error) { return full, nil })
	data := bytes.Repeat([]byte("0123456789"), 50_000)
	f := o.follow(0)
	defer f.Close()
	limit := func() int64 { return int64(len(data)) }
	got := make(chan []byte)
	go func() {
		var all []byte
		buf := make([]byte, 4096)
		for {
			gap, n, err := f.Next(buf, limit)
			all = append(all, make([]byte, gap)...)
			all = append(all, buf[:n]...)
			if err != nil {
				got <- all
				return
			}
		}
	}()
	for p := data; len(p) > 0; p = p[10_000:] {
		o.Write(p[:10_000])
	}
	if all := <-got; len(all) != len(data) {
		t.Errorf("%d of %d bytes", len(all), len(data))
	}
}
