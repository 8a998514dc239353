package supervise

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// stopsItself is a process with our name, as one between fork and exec is, that the user stops.
func stopsItself(times int) func() {
	return func() {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm")
		if err != nil || os.WriteFile("/proc/self/comm", bytes.TrimSpace(name), 0) != nil {
			os.Exit(1)
		}
		for range times {
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
	}
}

func TestAStartThatTheUserStopsHoldsUpNobody(t *testing.T) {
	for name, killed := range map[string]bool{"stopped once": false, "stopped for ever": true} {
		var status syscall.WaitStatus
		_, _, err := theReaper().Start(func() (int, error) {
			attr := &syscall.ProcAttr{Env: append(os.Environ(), helper+"="+name), Files: []uintptr{0, 1, 2}}
			pid, err := syscall.ForkExec("/proc/self/exe", []string{os.Args[0]}, attr)
			if err != nil {
				return 0, err
			}
			if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
				return 0, err
			}
			return 0, errors.New("it has ended")
		})
		if err == nil || err.Error() != "it has ended" {
			t.Fatal(err)
		}
		if status.Signaled() != killed || !killed && status.ExitStatus() != 0 {
			t.Errorf("%s: %v", name, status)
		}
	}
}
