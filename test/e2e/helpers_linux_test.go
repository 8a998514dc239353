package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// oneLine says whether a text is one complaint of hermes.
func oneLine(s string) bool {
	return strings.HasPrefix(s, "hermes: cannot ") && strings.HasSuffix(s, "\n") && strings.Count(s, "\n") == 1
}

// unique is a number that no other process of this machine has in its arguments.
func (w *world) unique() string {
	return strconv.Itoa(os.Getpid()) + "00" + strconv.Itoa(int(serial.Add(1)))
}

var serial atomic.Int64

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // the caller matched digits
	}
	return n
}

// guest returns the process of a running sandbox's guest.
func (w *world) guest(task string) int {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.home, "sandboxes", "native", task, "state.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	pid := decode[struct{ PID int }](w.t, string(data)).PID
	if name, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline"); err != nil || string(name) != "hermes-guest\x00" {
		w.t.Fatalf("process %d is %q, %v", pid, name, err)
	}
	return pid
}

// killGuest ends a sandbox from outside, as a crash would.
func (w *world) killGuest(task string) {
	w.t.Helper()
	pid := w.guest(task)
	syscall.Kill(pid, syscall.SIGKILL)
	eventually(w.t, "the guest is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}
