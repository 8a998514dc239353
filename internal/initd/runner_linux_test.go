package initd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/boot"
	"hermes.example/hermes/internal/supervise/reaper"
)

// reaping is a reaper, of orphans too, that ends with the test. Nothing else may wait for children meanwhile.
func reaping(t *testing.T) *reaper.Reaper {
	if err := reaper.Subreaper(); err != nil {
		t.Fatal(err)
	}
	r := reaper.New()
	t.Cleanup(r.Close)
	return r
}

func shell(script string) boot.Command {
	return boot.Command{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Capture: true}
}

func TestProgramsOfTheBoot(t *testing.T) {
	run := runner(reaping(t))
	for script, want := range map[string]struct{ output, err string }{
		"echo a; echo b":         {"a\nb\n", ""},
		"echo a; exit 3":         {"a\n", "it ended with status 3"},
		"kill -KILL $$":          {"", "it was ended by killed"},
		"pwd; read x; echo $x.":  {"/\n.\n", ""},
		"echo a; sleep 1000 & :": {"a\n", ""},
	} {
		output, err := run(t.Context(), shell(script))
		if string(output) != want.output || (err == nil) != (want.err == "") || err != nil && err.Error() != want.err {
			t.Errorf("%s: got %q, %v; want %q, %q", script, output, err, want.output, want.err)
		}
	}
	if _, err := run(t.Context(), boot.Command{Argv: []string{filepath.Join(t.TempDir(), "absent")}}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("the error is %v", err)
	}
	if output, err := run(t.Context(), shell("head -c 3000000 /dev/zero")); err != nil || len(output) != largestOutput {
		t.Errorf("%d bytes are kept, %v", len(output), err)
	}
	reaper.EndBelow(true)
}

func TestAProgramOfTheBootEndsWithItsTime(t *testing.T) {
	run := runner(reaping(t))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	output, err := run(ctx, shell("trap '' TERM; echo begun; sleep 1000 & wait; sleep 1000"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second || !strings.Contains(string(output), "begun") {
		t.Errorf("after %v: %q, %v", time.Since(began), output, err)
	}
	for end := time.Now().Add(10 * time.Second); len(reaper.Below()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v go on", reaper.Below())
		}
	}
}
