package history

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// A tree is counted with its youngest, with those that have ended, and once.
func TestATreeIsCountedWithAllThatItStarted(t *testing.T) {
	began := time.Now()
	cmd := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'; (sleep 1000 & echo ready; wait)`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range Processes([]int{cmd.Process.Pid}) {
			var pid int
			if words := strings.Fields(s.Key); len(words) == 3 {
				for _, d := range words[1] {
					pid = pid*10 + int(d-'0')
				}
			}
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	found := Processes([]int{cmd.Process.Pid, cmd.Process.Pid})
	for deadline := began.Add(time.Minute); slices.ContainsFunc(found, func(s Source) bool { return s.Memory == 0 }) && time.Now().Before(deadline); {
		found = Processes([]int{cmd.Process.Pid, cmd.Process.Pid}) // one that just becomes its program has none for a moment
	}
	var cpu time.Duration
	keys := map[string]bool{}
	for _, s := range found {
		cpu += s.CPU
		keys[s.Key] = true
		if s.Memory <= 0 || s.Finished != -1 || s.Began.Before(began.Add(-2*time.Second)) || s.Began.After(time.Now().Add(time.Second)) {
			t.Errorf("%+v", s)
		}
	}
	if len(found) < 2 || len(keys) != len(found) {
		t.Errorf("%d processes: %+v", len(found), found)
	}
	if cpu < 50*time.Millisecond {
		t.Errorf("what has ended used nothing: %v", cpu)
	}
	if none := Processes([]int{1 << 30}); len(none) != 0 {
		t.Errorf("of nobody: %+v", none)
	}
}
