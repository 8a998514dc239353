package reaper

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestWhatIsLeftIsEnded(t *testing.T) {
	if err := Subreaper(); err != nil {
		t.Fatal(err)
	}
	r := New()
	defer r.Close()
	for what, c := range map[string]struct {
		script string
		number int // of its processes, when all are there
		polite bool
	}{
		"one":                       {"exec sleep 1000", 1, true},
		"grandchildren and orphans": {"(setsid sleep 1000 &); sleep 1000 & sleep 1000", 4, true},
		"one that is deaf":          {"trap '' TERM; (setsid sleep 1000 &); while :; do sleep 0.1; done", 2, false},
	} {
		attr := &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Env: []string{"PATH=/usr/bin:/bin"}}
		pid, _, err := r.Start(func() (int, error) { return syscall.ForkExec("/bin/sh", []string{"sh", "-c", c.script}, attr) })
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { found := Below(); return slices.Contains(found, pid) && len(found) >= c.number })
		if gone := signalRest(syscall.SIGTERM, 500*time.Millisecond); gone != c.polite {
			t.Errorf("%s: asked, it is gone: %v", what, gone)
		}
		EndBelow(true)
		if left := Below(); len(left) > 0 {
			t.Errorf("%s: left are %v", what, left)
		}
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came true; running are %v", Below())
		}
	}
}
