package s6

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// finish ends with what tells s6 whether the service comes back.
func TestFinishSaysWhatComesBack(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"0 0", 125}, {"78 0", 125}, {"125 0", 125},
		{"1 0", 0}, {"2 0", 0}, {"75 0", 0}, {"137 0", 0}, {"255 0", 0}, {"256 9", 0}, {"256 15", 0},
	} {
		dir := built(t, supervise.Restarting{})
		started(t, dir, 0)
		if got := finish(t, dir, c.args); got != c.want {
			t.Errorf("after %s it ends with %d", c.args, got)
		}
	}
}

// What fails comes back later and later, and in the end not at all.
func TestFinishCountsFailures(t *testing.T) {
	dir := built(t, supervise.Restarting{Min: time.Second, Max: 3 * time.Second, Burst: 5, Window: time.Minute})
	started(t, dir, 0)
	for i, least := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		if code := finish(t, dir, "1 0"); code != 0 {
			t.Fatalf("failure %d: it ends with %d", i, code)
		}
		if pause := noted(t, dir, "pause"); pause < least || pause > least*3/2 {
			t.Errorf("failure %d: the pause is %v", i, pause)
		}
		finish(t, dir, "75 0") // neither is one
		finish(t, dir, "256 15")
	}
	if code := finish(t, dir, "1 0"); code != 125 {
		t.Errorf("after the last failure it ends with %d", code)
	}
}

// Who only ever asks for a restart has failed.
func TestFinishCountsRequestsForRestarts(t *testing.T) {
	dir := built(t, supervise.Restarting{Burst: 2})
	for _, want := range []int{0, 125} {
		started(t, dir, time.Now().Unix())
		if got := finish(t, dir, "75 0"); got != want {
			t.Errorf("it ends with %d and not %d", got, want)
		}
	}
}

// started notes when the program was.
func started(t *testing.T, dir string, at int64) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "data/started"), []byte(strconv.FormatInt(at, 10)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Failures are forgotten with time.
func TestFinishForgetsFailures(t *testing.T) {
	dir := built(t, supervise.Restarting{Burst: 2, Window: time.Minute})
	if err := os.WriteFile(filepath.Join(dir, "data/failures"), []byte("1000 1001 1002\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, dir, "1 0"); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

// Whatever is where the process group should be, finish ends nobody else.
func TestFinishEndsNobodyElse(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("a mistake would end more than this test")
	}
	for _, group := range []string{"", "0", "1", "01", "-1", "1 1", "x", "\n1"} {
		dir := built(t, supervise.Restarting{})
		if err := os.WriteFile(filepath.Join(dir, "data/group"), []byte(group+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		// The test itself is in group 0 or 1 of its namespace, or would be reached by all of them.
		if code := finish(t, dir, "1 0"); code != 0 {
			t.Errorf("%q: it ends with %d", group, code)
		}
	}
}

func TestPausesDouble(t *testing.T) {
	for _, c := range []struct {
		min, max time.Duration
		want     string
	}{
		{time.Second, 60 * time.Second, "1000 2000 4000 8000 16000 32000 60000"},
		{0, 0, "1000 2000 4000 8000 16000 32000 60000"},
		{time.Minute, time.Second, "60000"},
	} {
		if got := strings.Join(pauses(withDefaults(supervise.Restarting{Min: c.min, Max: c.max})), " "); got != c.want {
			t.Errorf("from %v to %v: %s", c.min, c.max, got)
		}
	}
}

// built is a slot that no supervisor has.
func built(t *testing.T, r supervise.Restarting) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gateway-a")
	s := supervise.Service{Name: "gateway-a", Argv: []string{"/bin/true"}, Dir: "/", Restart: r}
	if err := build(dir, s, true); err != nil {
		t.Fatal(err)
	}
	return dir
}

// finish runs the script as s6-supervise does, and returns its status.
func finish(t *testing.T, dir, args string) int {
	t.Helper()
	cmd := exec.Command("./finish", append(strings.Fields(args), "gateway-a")...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	if text := strings.TrimSpace(string(out)); text != "" {
		t.Errorf("finish says %s", text)
	}
	return cmd.ProcessState.ExitCode()
}

func noted(t *testing.T, dir, name string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(text)) + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
