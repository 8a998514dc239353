package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree starts a command of several processes, one of which has left its session,
// and waits until all of them run. Their command lines contain the marker.
func startTree(t *testing.T, w *world, marker, trap string, flags ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	line := trap + "setsid sleep " + marker + "& sleep " + marker + "& sleep " + marker + "; true"
	cmd := w.command(append(append([]string{"sandbox", "exec"}, flags...), "-c", line)...)
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tree runs", func() bool { return len(running(t, "sleep", marker)) == 3 })
	return cmd, stderr
}

func gone(t *testing.T, marker string) {
	t.Helper()
	eventually(t, "the tree is gone", func() bool { return len(running(t, "sleep", marker)) == 0 })
}

func TestASignalEndsTheWholeTree(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			marker := "31536001." + w.unique()
			cmd, stderr := startTree(t, w, marker, "")
			cmd.Process.Signal(signal)
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 || stderr.String() != "[Command interrupted]\n" {
				t.Errorf("%v: status %d, %q", signal, code, stderr.String())
			}
			if left := running(t, "sleep", marker); len(left) > 0 {
				t.Errorf("%v: %v are still there", signal, left)
			}
		}
		if got := w.must("sandbox", "exec", "-c", "echo goes on"); got != "goes on\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTheSecondSignalEndsHermesAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	marker := "31536002." + w.unique()
	// The tree ignores the request to end, so that the grace has to pass.
	cmd, stderr := startTree(t, w, marker, "trap '' TERM INT; ")
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for running := true; running; {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	// Had it waited for the command's end, it would have passed on its last line.
	if code := cmd.ProcessState.ExitCode(); code != 130 || stderr.Len() > 0 {
		t.Errorf("status %d, %q", code, stderr.String())
	}
	gone(t, marker)
}

func TestAKilledCallerTakesItsCommandAlong(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		marker := "31536003." + w.unique()
		cmd, _ := startTree(t, w, marker, "")
		cmd.Process.Kill()
		cmd.Wait()
		gone(t, marker)
	})
}

func TestAnInterruptedRunIsRemoved(t *testing.T) {
	w := newWorld(t, nil)
	marker := "31536004." + w.unique()
	cmd := w.command("run", "--", "sleep", marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool { return len(running(t, "sleep", marker)) > 0 })
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("status %d", code)
	}
	if got := w.must("sandbox", "ls", "--json"); got != "[]\n" {
		t.Errorf("it is still there: %s", got)
	}
}

func TestACommandThatNobodyListensToIsEndedQuietly(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		marker := w.unique()
		cmd := w.command("sandbox", "exec", "--timeout", "0", "--", "yes", marker)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = write, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		if _, err := io.ReadFull(read, make([]byte, 2*len(marker))); err != nil {
			t.Fatal(err)
		}
		read.Close()
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 || stderr.Len() > 0 {
			t.Errorf("status %d, %q", code, stderr.String())
		}
		eventually(t, "yes is gone", func() bool { return len(running(t, "yes", marker)) == 0 })
	})
}

func TestASandboxThatDoesNotAnswerHoldsNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--", "true")
	syscall.Kill(w.guest("default"), syscall.SIGSTOP) // the end of the test removes it all the same
	if got := w.must("sandbox", "ls"); !strings.Contains(got, "no answer") {
		t.Errorf("got %q", got)
	}
	cmd := w.command("sandbox", "exec", "--", "true")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits for the guest", func() bool { return connected(cmd.Process.Pid) })
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || stderr.String() != "hermes: cannot go on: interrupted\n" {
		t.Errorf("status %d, %q", code, stderr.String())
	}
}

// connected says whether a process has a socket.
func connected(pid int) bool {
	links, _ := filepath.Glob("/proc/" + itoa(pid) + "/fd/*")
	return slices.ContainsFunc(links, func(link string) bool {
		to, _ := os.Readlink(link)
		return strings.HasPrefix(to, "socket:")
	})
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	w := newWorld(t, nil)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"sandbox", "exec", "--", "echo", "x"}, {"version"}, {"sandbox", "ls"}} {
		cmd := w.command(args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		cmd.Run()
		if cmd.ProcessState.ExitCode() == 0 || !oneLine(stderr.String()) || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: status %d, %q", args, cmd.ProcessState.ExitCode(), stderr.String())
		}
	}
}
