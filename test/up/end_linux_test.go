package up

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// kills is how often it is killed.
const kills = 20

// Killed at any moment, also while its services are being born, it leaves nothing that runs and nothing that is in the
// way of the next one.
func TestAKillAtAnyMomentLeavesNothing(t *testing.T) {
	w := newWorld(t, nil)
	began := time.Now()
	first := w.up()
	first.there()
	span := time.Since(began)
	first.signal(syscall.SIGINT)
	first.status()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	hit := map[string]int{}
	for range kills {
		p := w.up()
		timer := time.NewTimer(time.Duration(random.Float64() * 1.2 * float64(span)))
		<-timer.C
		hit[w.phase(p)]++
		p.signal(syscall.SIGKILL)
		p.status()
		eventually(t, "all of it ends", func() bool { return len(w.leftovers()) == 0 })
	}
	t.Logf("seed %d: killed at %v", seed, hit)
	if len(hit) < 2 {
		t.Errorf("all kills hit the same moment: %v", hit)
	}
	next := w.up()
	if said := next.there(); strings.Contains(said, "cannot") || !oneTime.MatchString(said) {
		t.Errorf("the next one says %s", said)
	}
	if code, _ := w.call("GET", "/health", ""); code != 200 {
		t.Errorf("the gateway answers %d", code)
	}
	next.signal(syscall.SIGINT)
	next.status()
	w.clean()
}

// phase is how far it has come.
func (w *world) phase(p *process) string {
	if strings.Contains(p.stdout.String(), "Ctrl-C stops") {
		return "there"
	}
	switch running := len(w.leftovers()); {
	case running > 1:
		return "with services"
	case running == 1:
		return "alone"
	}
	return "not yet"
}

// Whoever ends it while it starts, once or twice, ends all of it.
func TestAnEndWhileItStarts(t *testing.T) {
	w := newWorld(t, nil)
	for _, services := range []int{0, 1, 2} {
		for _, twice := range []bool{false, true} {
			p := w.up()
			// Before there is a trace of it a signal may come before its handlers, and kill it as it would any program.
			eventually(t, "it has begun", func() bool {
				held, _ := filepath.Glob(filepath.Join(w.run, "hermes", "control-*.sock"))
				return len(held) == 1 && len(w.leftovers()) > services || p.hasEnded()
			})
			p.signal(syscall.SIGINT)
			if twice {
				p.signal(syscall.SIGINT)
			}
			if code := p.status(); code != 0 {
				t.Errorf("with %d services, twice %v, it ends with %d: %s", services, twice, code, p.err.String())
			}
			if left := w.leftovers(); len(left) > 0 {
				t.Errorf("with %d services, twice %v, left are the processes %v", services, twice, left)
			}
		}
	}
}

// A terminal that is closed ends it, though nobody can be told any more.
func TestAClosedTerminalEndsIt(t *testing.T) {
	w := newWorld(t, nil)
	cmd := w.command("up", "--port", "0")
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); cmd.Wait() }()
	defer func() { cmd.Process.Kill(); <-ended }()
	defer terminal.Close()
	stuck := time.AfterFunc(bound, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	var said strings.Builder
	for buf := make([]byte, 1024); !strings.Contains(said.String(), "Ctrl-C stops"); {
		n, err := terminal.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, said.String())
		}
		said.Write(buf[:n])
	}
	terminal.Close()
	select {
	case <-ended:
	case <-time.After(bound):
		t.Fatal("it goes on")
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	w.clean()
}

// Where nobody reads where to look, nobody knows that it runs: it ends.
func TestNobodyReadsWhereToLook(t *testing.T) {
	w := newWorld(t, nil)
	r, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := w.command("up", "--port", "0")
	cmd.Stdout = output
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output.Close()
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if status, is := err.(*exec.ExitError); !is || status.ExitCode() != 130 {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(bound):
		cmd.Process.Kill()
		<-ended
		t.Error("it goes on")
	}
	w.clean()
}
