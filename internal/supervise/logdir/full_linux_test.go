package logdir

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/machine"
)

// TestAFullDiskIsSurvived fills a small file system, which only it can see.
func TestAFullDiskIsSurvived(t *testing.T) {
	machine.OnSmallDisk(t, "256k", fill)
}

func fill(t *testing.T, dir string) {
	var why error
	told, missing := 0, 0
	w := &Writer{Place: Place{Dir: filepath.Join(dir, "log")}, Warn: func(err error, lost int) {
		told++
		if err != nil {
			why = err
		}
		missing = lost
	}}
	line := []byte(strings.Repeat("x", 3_000) + "\n")
	now := noon
	for range 200 {
		now = now.Add(2 * time.Second)
		w.Write(now, line)
	}
	if told != 1 || !errors.Is(why, syscall.ENOSPC) {
		t.Fatalf("told %d times: %v", told, why)
	}
	text := content(t, w.Place.Dir, current)
	if text == "" || !strings.HasSuffix(text, "x\n") {
		t.Errorf("of %d bytes the last line is torn", len(text))
	}
	kept := strings.Count(text, "\n")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	w.Write(now.Add(time.Minute), line)
	if told != 2 || missing != 200-kept {
		t.Errorf("told %d times, %d lines missing of %d", told, missing, 200-kept)
	}
	if got := strings.Count(content(t, w.Place.Dir, current), "\n"); got != kept+1 {
		t.Errorf("%d lines after %d", got, kept)
	}
}
