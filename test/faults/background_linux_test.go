package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// start starts a background process that has to start.
func (a *arena) start(box *sandbox.Sandbox, b sandbox.Background) *sandbox.Process {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	p, err := box.Start(ctx, b)
	if err != nil {
		a.Fatal(err)
	}
	return p
}

func line(text string) sandbox.Background {
	return sandbox.Background{Command: sandbox.Command{Line: text}}
}

// log reads all that is kept of a process's log.
func (a *arena) log(p *sandbox.Process) (string, sandbox.LogPart) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	var out bytes.Buffer
	part, err := p.Logs(ctx, sandbox.LogOptions{}, &out)
	if err != nil {
		a.Fatal(err)
	}
	return out.String(), part
}

// said waits until a process has said something.
func (a *arena) said(p *sandbox.Process, text string) {
	a.Helper()
	if !eventually(func() bool { log, _ := a.log(p); return strings.Contains(log, text) }) {
		log, _ := a.log(p)
		a.Fatalf("%s has not said %q:\n%s", p.ID, text, log)
	}
}

// waited returns how a process ended.
func (a *arena) waited(p *sandbox.Process) sandbox.Result {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	r, err := p.Wait(ctx)
	if err != nil {
		a.Fatal(err)
	}
	return r
}

func TestD24KillEndsTheWholeTree(t *testing.T) {
	eachTree(t, func(a *arena, box *sandbox.Sandbox, flags string) string {
		name := mark(a)
		p := a.start(box, sandbox.Background{Command: sandbox.Command{Argv: []string{"/tools/tree", name, flags}}})
		a.said(p, "ready")
		ctx, cancel := context.WithTimeout(a.Context(), bound)
		defer cancel()
		r, err := p.Kill(ctx, treeGrace)
		left := remains(name)
		for _, pid := range left {
			signal(pid, syscall.SIGKILL)
		}
		if err != nil || r.Reason != sandbox.Killed || len(r.Survivors) > 0 || len(left) > 0 {
			return fmt.Sprintf("%+v %v, left running: %v", r, err, left)
		}
		return ""
	})
}

func TestD24SameEnvironmentAsForeground(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{Env: map[string]string{"PATH": "/of/the/spec:/usr/bin:/bin"}})
		const show = "env | grep -v -e ^HERMES_EXEC_ID= -e ^_= | sort; pwd; shopt login_shell || true"
		want := a.must(box, show)
		p := a.start(box, line(show))
		a.waited(p)
		if log, _ := a.log(p); strings.TrimSpace(log) != want || !strings.Contains(log, "PATH=/of/the/spec:") {
			t.Errorf("in the background:\n%s\nin the foreground:\n%s", log, want)
		}
	})
}

// After the guest was killed its processes are lost, whatever has their ids now.
func TestD24RestartedGuestKnowsNoProcessIDs(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		before := a.start(box, line("echo before; exec sleep 1000"))
		a.said(before, "before")
		a.killGuest()
		if !eventually(func() bool { return len(a.guests()) == 0 }) {
			t.Fatalf("guests %v", a.guests())
		}
		// The next guest counts its processes from the same number on.
		var after *sandbox.Process
		for range 50 {
			if after = a.start(box, line("echo after; exec sleep 1000")); after.Started.PID >= before.Started.PID {
				break
			}
		}
		a.said(after, "after")
		if after.Started.PID != before.Started.PID {
			t.Logf("the process id was %d and is %d", before.Started.PID, after.Started.PID)
		}
		info, err := before.Poll(t.Context())
		if err != nil || info.State != sandbox.ProcessLost {
			t.Fatalf("it is %s: %v", info.State, err)
		}
		if r, err := before.Kill(t.Context(), 0); err != nil || r.Reason != sandbox.Lost {
			t.Errorf("killed: %+v %v", r, err)
		}
		if err := before.Signal(t.Context(), 9); err == nil {
			t.Error("it was signalled")
		}
		if info, err := after.Poll(t.Context()); err != nil || info.State != sandbox.ProcessRunning {
			t.Errorf("the other one is %s: %v", info.State, err)
		}
		if log, _ := a.log(before); log != "before\n" {
			t.Errorf("the log is %q", log)
		}
	})
}

// spooled is how many bytes the guest of a task has on disk.
func (a *arena) spooled(task string) (size int64) {
	a.Helper()
	dir := filepath.Join(a.home, "sandboxes", "native", a.id(task).Name(), "spool")
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // it may be gone by now
				size += info.Size()
			}
		}
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
	return size
}

func TestD24LogsAreBounded(t *testing.T) {
	a := newArena(t)
	box := a.ensure("t", sandbox.Spec{})
	first := a.start(box, line("echo first"))
	a.waited(first)
	const each, all, slack = 16 << 20, 256 << 20, 1 << 20
	for i := range 20 {
		p := a.start(box, line("head -c 40000000 /dev/zero; echo end"))
		a.waited(p)
		info, err := p.Poll(t.Context())
		if kept := info.LogEnd - info.LogStart; err != nil || info.LogEnd != 40000004 || kept > each || kept < each/2 {
			t.Fatalf("process %d keeps %d of %d bytes: %v", i, kept, info.LogEnd, err)
		}
		if size := a.spooled("t"); size > all+slack {
			t.Fatalf("after process %d the logs have %d bytes", i, size)
		}
	}
	// The oldest have gone, and are known no more; the youngest are whole.
	infos, err := box.Processes(t.Context())
	if err != nil || len(infos) < 10 || len(infos) > 20 || infos[0].ID == first.ID {
		t.Errorf("%d processes are listed: %v", len(infos), err)
	}
	// None of them runs again for that.
	again := a.start(box, sandbox.Background{Command: sandbox.Command{Line: "echo first", ID: first.ID}})
	if again.Started.State != sandbox.ProcessExited {
		t.Errorf("one that was forgotten is %s", again.Started.State)
	}
}

// Numbers of seven digits: the one at offset o is o/8+1.
const sevenDigits = "seq -w 1 9999999"

func TestGuestKilledWhileItLogs(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		r := random(t)
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		const window = 100_000
		written := int64(0)
		for i := range size(t, "HERMES_KILLS", 10, 100) {
			p := a.start(box, sandbox.Background{Command: sandbox.Command{Line: sevenDigits + "; sleep 1000", Window: window}})
			time.Sleep(time.Duration(r.Int64N(int64(50 * time.Millisecond))))
			a.killGuest()
			if end := a.waited(p); end.Reason != sandbox.Lost {
				t.Fatalf("%d: it ended with %+v", i, end)
			}
			log, part := a.log(p)
			if part.Missed+int64(len(log)) != part.Next || part.Process.State != sandbox.ProcessLost ||
				len(log) > window || int64(len(log)) < min(part.Next, window*3/4) {
				t.Fatalf("%d: %d bytes of the log: %+v", i, len(log), part)
			}
			written += part.Next
			for at := (part.Missed + 7) / 8 * 8; at+8 <= part.Next; at += 8 {
				if got, want := log[at-part.Missed:][:8], fmt.Sprintf("%07d\n", at/8+1); got != want {
					t.Fatalf("%d: at %d the log has %q, not %q", i, at, got, want)
				}
			}
		}
		if written < window {
			t.Errorf("only %d bytes were ever written: the kills came too early", written)
		}
	})
}

const (
	// startsInARow is how many processes a starter starts, one after the other.
	startsInARow = 20
	// measured is where the numbers of runs begin that nobody kills.
	measured = 1 << 20
)

// processOf is the id of one of them.
func processOf(run, i int) string { return fmt.Sprintf("proc_%06x%06x", run, i) }

func startLine(id string) string { return "echo " + id + " >>ran; exit 3" }

// starterRole starts background processes, and tells before each.
func starterRole() error {
	progress := os.NewFile(3, "progress")
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	box, err := m.Ensure(context.Background(), sandbox.Identity{Home: setting("home"), Task: setting("task")}, sandbox.Spec{})
	if err != nil {
		return err
	}
	run, err := strconv.Atoi(setting("run"))
	if err != nil {
		return err
	}
	for i := range startsInARow {
		progress.Write([]byte{phaseRunning})
		id := processOf(run, i)
		if _, err := box.Start(context.Background(), sandbox.Background{Command: sandbox.Command{Line: startLine(id), ID: id}}); err != nil {
			return err
		}
	}
	return nil
}

func TestCallerKilledWhileItStartsProcesses(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		r := random(t)
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		a.must(box, "true")
		settings := func(run int) map[string]string {
			return map[string]string{"home": a.home, "task": "t", "run": strconv.Itoa(run)}
		}
		var took time.Duration
		kills := size(t, "HERMES_KILLS", 30, 300)
		phases := []string{"the first starts", "those in the middle", "the last"}
		hit := make([]int, len(phases))
		runs := 1
		for ; runs <= kills || runs <= 5*kills && slices.Min(hit) < enoughHits; runs++ {
			if runs%20 == 1 { // the machine has other work, too
				began := time.Now()
				<-startRole(t, "starter", settings(measured+runs)).waited
				took = time.Since(began)
			}
			p := startRole(t, "starter", settings(runs))
			time.Sleep(time.Duration(r.Int64N(int64(took))))
			p.kill()
			begun, _ := io.ReadAll(p.progress)
			hit[max(0, len(begun)-1)*len(phases)/startsInARow]++
			// Whoever asks again gets the same ones, and no others.
			for i := range startsInARow {
				id := processOf(runs, i)
				again := a.start(box, sandbox.Background{Command: sandbox.Command{Line: startLine(id), ID: id}})
				if end := a.waited(again); end.Code != 3 || end.Reason != sandbox.Exited {
					t.Errorf("kill %d: process %d ended with %+v", runs, i, end)
				}
			}
		}
		t.Logf("%d kills over %s:", runs-1, took)
		for i, n := range hit {
			t.Logf("  %-20s %3d %s", phases[i], n, strings.Repeat("#", n))
			if n < enoughHits {
				t.Errorf("hit fewer than %d times: %s", enoughHits, phases[i])
			}
		}
		data, err := os.ReadFile(filepath.Join(a.home, "sandboxes", "native", "t", "workspace", "ran"))
		if err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, id := range strings.Fields(string(data)) {
			count[id]++
		}
		for run := 1; run < runs; run++ {
			for i := range startsInARow {
				if n := count[processOf(run, i)]; n != 1 {
					t.Errorf("process %d of run %d ran %d times", i, run, n)
				}
			}
		}
	})
}
