package local_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func cannotCall(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.box("other")
	if got := a.outside("call", a.socket("own")); got != "done" {
		t.Fatalf("not shown: outside it says %q", got)
	}
	for _, task := range []string{"own", "other"} {
		for _, way := range []string{"call", "hand-over"} {
			if got := a.attacks(box, way, a.socket(task)); strings.HasSuffix(got, "done") {
				t.Errorf("%s: the guest of %s answers %q", way, task, got)
			}
		}
	}
	// One that has left its parent, its session and its environment.
	out := filepath.Join(a.home, "out")
	a.says(box, "(setsid env -i "+attackVariable+"=1 "+quote(a.program)+" call "+quote(a.socket("own"))+" >"+quote(out)+" 2>&1 &); until [ -s "+quote(out)+" ]; do sleep 0.02; done")
	if got, _ := os.ReadFile(out); strings.Contains(string(got), "done") {
		t.Errorf("an orphan is answered %q", got)
	}
	if got := a.attacks(box, "rise"); got != "EPERM" {
		t.Errorf("a command that raises its limit gets %s", got)
	}
}

// A caller that has ended before the guest could look is not let in: its number may be
// another's by now.
func deadCaller(t *testing.T) {
	a := newArena(t)
	a.box("own")
	guest := a.guest("own")
	if err := syscall.Kill(guest, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(a.program, "hand-over", a.socket("own"))
	cmd.Env = append(os.Environ(), attackVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it has the connection of one who is gone
	if err := syscall.Kill(guest, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first := lines.Text()
	lines.Scan()
	if first != "connected" || lines.Text() == "done" || cmd.Wait() != nil {
		t.Errorf("it says %q, then %q", first, lines.Text())
	}
}

func cannotPose(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.says(box, quote(a.program)+" pose "+quote(a.socket("own"))+" >/dev/null 2>&1 & until [ "+quote(a.socket("own"))+" -nt "+quote(a.program)+" ]; do sleep 0.02; done; sleep 0.2")
	box.Close()
	_, err := a.manager.StatusOf(t.Context(), a.id("own"))
	if err == nil || !strings.Contains(err.Error(), "answers in place of its guest") {
		t.Errorf("the error is %v", err)
	}
	if err := a.manager.Remove(t.Context(), a.id("own"), false); err != nil {
		t.Fatal(err)
	}
	if got := a.says(a.box("own"), "echo well"); got != "well" {
		t.Errorf("afterwards it says %q", got)
	}
}

// A socket of another guest in the place of its own neither lets a command's caller
// into the wrong sandbox nor ends that one.
func cannotMislead(t *testing.T) {
	for name, line := range map[string]string{"link": "ln -sf %s %s", "hard link": "ln -f %s %s", "rename": "mv %s %s"} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t)
			own, other := a.box("own"), a.box("other")
			guest := a.guest("other")
			a.says(own, fmt.Sprintf(line, quote(a.socket("other")), quote(a.socket("own"))))
			own.Close()
			if _, err := a.manager.StatusOf(t.Context(), a.id("own")); err == nil || !strings.Contains(err.Error(), "answers in place of its guest") {
				t.Errorf("the error is %v", err)
			}
			if err := a.manager.Remove(t.Context(), a.id("own"), true); err != nil {
				t.Error(err)
			}
			if a.guest("other") != guest {
				t.Error("the other sandbox has ended")
			}
			other.Close()
		})
	}
}

func hermesInside(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	if got := a.attacks(box, "status", a.home, "own"); !strings.Contains(got, "itself a command of a sandbox") {
		t.Errorf("a hermes inside is told %q", got)
	}
	if got := a.outside("status", a.home, "own"); got != "done" {
		t.Errorf("not shown: outside it is told %q", got)
	}
	// It has sandboxes of its own, from one command to the next.
	first := a.attacks(box, "use", a.home, "inner")
	if second := a.attacks(box, "use", a.home, "inner"); first != second || !strings.HasSuffix(first, "\ndone") {
		t.Errorf("the first command is told %q, the second %q", first, second)
	}
	if got := a.outside("use", a.home, "inner"); !strings.Contains(got, "answers in place of its guest") {
		t.Errorf("outside a command's guest is taken for ours: %q", got)
	}
}
