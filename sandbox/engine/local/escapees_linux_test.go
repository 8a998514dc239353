package local_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

func killedGuest(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	guest := a.guest("own")
	a.says(box, fmt.Sprintf("setsid sleep 1000 >/dev/null 2>&1 & sh -c 'env -i sleep %d & wait' >/dev/null 2>&1 & (sleep 1002 >/dev/null 2>&1 &)", unused(4)))
	name := a.id("own").Key() + "-local"
	// They are behind the line's end, and may be the shell's still.
	left := commands(t, name)
	for bound := time.Now().Add(10 * time.Second); len(left) < 3 && time.Now().Before(bound); left = commands(t, name) {
		time.Sleep(time.Millisecond)
	}
	if len(left) < 3 {
		t.Fatalf("not shown: %q runs", left)
	}
	box.Close()
	if err := syscall.Kill(guest, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := commands(t, name); len(left) < 3 {
		t.Errorf("not shown: after the guest's death %q runs", left)
	}
	a.box("own")
	if left := commands(t, name); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
	if left := sleepers(t, unused(4)); len(left) > 0 {
		t.Errorf("what has no environment but its parent is still there: %d", left)
	}
}

// unused are times that nobody else sleeps for.
func unused(n int) int { return os.Getpid()*1000 + n }

// sleepers lists the processes that sleep for so long.
func sleepers(t *testing.T, seconds int) (pids []int) {
	t.Helper()
	for _, name := range processes(t) {
		line, _ := os.ReadFile("/proc/" + name + "/cmdline")
		if string(line) == fmt.Sprintf("sleep\x00%d\x00", seconds) {
			pid, _ := strconv.Atoi(name)
			pids = append(pids, pid)
		}
	}
	return pids
}

// However a sandbox ends, what has left its parent, session and environment ends too.
func hiddenProcesses(t *testing.T) {
	a := newArena(t)
	hide := func(box *sandbox.Sandbox, seconds int) {
		a.says(box, fmt.Sprintf("(setsid env -i sleep %d >/dev/null 2>&1 &); until pgrep -x -f 'sleep %[1]d'; do sleep 0.02; done", seconds))
	}
	gone := func(how string, seconds int) {
		t.Helper()
		for bound := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
			left := sleepers(t, seconds)
			if len(left) == 0 {
				return
			}
			if time.Now().After(bound) {
				t.Errorf("it outlives %s", how)
				for _, pid := range left {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				return
			}
		}
	}
	box := a.box("removed")
	hide(box, unused(1))
	if err := a.manager.Remove(t.Context(), a.id("removed"), false); err != nil {
		t.Fatal(err)
	}
	gone("a removal", unused(1))

	box, err := a.manager.Ensure(t.Context(), a.id("ephemeral"), sandbox.Spec{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	hide(box, unused(2))
	box.Close()
	gone("an ephemeral sandbox", unused(2))

	box = a.box("interrupted")
	hidden := fmt.Sprintf("(setsid env -i sleep %d >/dev/null 2>&1 &); sleep 300", unused(3))
	if result, err := box.Exec(t.Context(), sandbox.Command{Line: hidden, Timeout: time.Second, Grace: time.Millisecond}); err != nil || result.Reason != sandbox.TimedOut {
		t.Errorf("it ends with %+v, %v", result, err)
	}
	gone("its command", unused(3))
}
