package s6

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// notes are what a slot's files say beside its status.
type notes struct {
	down     bool // it is not to run when its supervisor starts
	notifies bool // it says itself when it is ready
	ended    int  // how often, since somebody started it
	endedAt  time.Time
	pausing  bool // run waits before it starts the program
	until    time.Time
	parked   string // why it is down
}

// passing are the notes that are over when somebody starts the service.
var passing = []string{"data/failures", "data/pause", "data/parked", "data/ended"}

// readNotes reads what it can. The files are the user's, who can write nonsense there about its own services.
func readNotes(slot string) (n notes) {
	exists := func(name string) bool { _, err := os.Lstat(filepath.Join(slot, name)); return err == nil }
	n.down, n.notifies = exists("down"), exists("notification-fd")
	if text, err := small(filepath.Join(slot, "data/ended")); err == nil {
		var at int64
		if _, err := fmt.Sscan(text, &n.ended, &at); err == nil {
			n.endedAt = time.Unix(at, 0)
		}
	}
	pause := filepath.Join(slot, "data/pause")
	if text, err := small(pause); err == nil {
		n.pausing = true
		if length, err := time.ParseDuration(strings.TrimSpace(text) + "s"); err == nil {
			if info, err := os.Lstat(pause); err == nil {
				n.until = info.ModTime().Add(length)
			}
		}
	}
	if text, err := small(filepath.Join(slot, "data/parked")); err == nil {
		n.parked = strings.TrimSpace(text)
	}
	return n
}

// small reads the beginning of a file, and of nothing else that may have its name.
func small(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("cannot read %s: it is not a file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, smallest))
	return string(text), err
}

// smallest is more than anything that is read has.
const smallest = 256
