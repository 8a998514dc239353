package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/sandbox"
)

// beginMemory makes a sandbox, notes what its guest weighs, runs 200 commands in
// it, and returns what looks at it again a minute later.
func (r *runner) beginMemory() func() error {
	var fresh, private float64
	box, err := r.box("memory")
	if err == nil {
		select { // a guest tidies up after its setup
		case <-time.After(time.Second):
		case <-r.ctx.Done():
		}
		if fresh, err = r.guestMemory("memory", "VmRSS"); err == nil {
			private, err = r.guestMemory("memory", "RssAnon")
		}
	}
	for i := 0; i < 200 && err == nil; i++ {
		err = succeeded(box.Exec(r.ctx, sandbox.Command{Line: "echo " + strings.Repeat("x", 100)}))
	}
	used := time.Now()
	return func() error {
		if err != nil {
			return err
		}
		r.report.figure("memory of an idle guest, fresh", "MB", fresh, 4, false,
			fmt.Sprintf("%.1f MB of it are its own, the rest is its program, which all guests share", private))
		if r.Quick {
			return nil
		}
		select {
		case <-time.After(time.Until(used.Add(time.Minute))):
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
		later, err := r.guestMemory("memory", "VmRSS")
		r.report.figure("the same, a minute after 200 commands", "MB", later, 8, false, "")
		return err
	}
}

// guestMemory reads a field of the status of a sandbox's guest, in MB.
func (r *runner) guestMemory(task, field string) (float64, error) {
	guest, ok := r.engine.(interface {
		GuestPID(sandbox.Identity) (int, error)
	})
	if !ok {
		return 0, fmt.Errorf("this engine does not tell where its guests are")
	}
	pid, err := guest.GuestPID(sandbox.Identity{Home: r.home, Task: task})
	if err != nil {
		return 0, err
	}
	return memory(strconv.Itoa(pid), field), nil
}

func peak(pid string) float64 { return memory(pid, "VmHWM") }

func memory(pid, field string) float64 {
	status, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}
