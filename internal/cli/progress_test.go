package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func newTestFetching(terminal bool) (*fetching, *bytes.Buffer, *time.Time) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	f := (&app{stderr: &out}).newFetching()
	f.terminal, f.now = terminal, func() time.Time { return now }
	return f, &out, &now
}

func TestWithoutATerminalEachFetchedLayerIsALine(t *testing.T) {
	f, out, _ := newTestFetching(false)
	f.Layer("sha256:aaaaaaaaaaaaaaaa", 10, 4096)
	f.Layer("sha256:bbbbbbbbbbbbbbbb", 5<<20, 5<<20) // was there already
	f.Layer("sha256:aaaaaaaaaaaaaaaa", 4096, 4096)
	f.Layer("sha256:aaaaaaaaaaaaaaaa", 4096, 4096)
	f.end()
	if want := "hermes: fetched layer aaaaaaaaaaaa, 4.0 kB\n"; out.String() != want {
		t.Errorf("printed %q, not %q", out, want)
	}
}

func TestOnATerminalThereIsABarThatGoesAway(t *testing.T) {
	f, out, now := newTestFetching(true)
	f.Layer("sha256:a", 0, 100)
	f.Layer("sha256:b", 0, 100)
	if out.Len() > 0 {
		t.Errorf("something is said of a fetch that has just begun: %q", out)
	}
	*now = now.Add(time.Second)
	f.Layer("sha256:a", 100, 100)
	if !strings.Contains(out.String(), "[############............] 100 B of 200 B") {
		t.Errorf("the bar is %q", out)
	}
	out.Reset()
	f.Layer("sha256:b", 50, 100)
	if out.Len() > 0 {
		t.Errorf("it is drawn too often: %q", out)
	}
	f.Layer("sha256:b", 100, 100)
	if got := out.String(); strings.ReplaceAll(got, " ", "") != "\r\r" || f.line.shown != 0 {
		t.Errorf("the bar stays: %q", got)
	}
}
