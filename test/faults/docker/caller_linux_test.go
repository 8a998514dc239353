package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"hermes.example/hermes/sandbox"
)

// errand is what a caller in another process does.
type errand struct {
	Host     string
	Bridge   bool
	Identity sandbox.Identity
	Spec     sandbox.Spec
	Line, ID string
	Remove   bool // the sandbox, when the command has ended
	Wait     bool // for the input to end, before anything else
	Sweep    bool // instead of all that
}

// The phases of a caller, in their order, as it writes them to descriptor 3.
const (
	phaseBefore   = 'b' // it has no lock yet
	phaseCreating = 'c'
	phaseHanded   = 'h' // the sandbox is there, its command is not
	phaseRunning  = 'x' // the command has said something
	phaseClosing  = 'q'
)

// callerRole is the other process.
func callerRole() error {
	var e errand
	if err := json.Unmarshal([]byte(os.Getenv(roleVariable)), &e); err != nil {
		return err
	}
	if e.Wait {
		io.Copy(io.Discard, os.Stdin)
	}
	progress := os.NewFile(3, "progress")
	engine, err := newEngine(e.Host, e.Bridge)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if e.Sweep {
		n, err := engine.Sweep(ctx, e.Identity.Home)
		fmt.Println(n)
		return err
	}
	m := sandbox.NewManager(&tellingEngine{engine, progress}, sandbox.Options{NoSweep: true})
	box, err := m.Ensure(ctx, e.Identity, e.Spec)
	if err != nil {
		return err
	}
	progress.Write([]byte{phaseHanded})
	if _, err := box.Exec(ctx, sandbox.Command{Line: e.Line, ID: e.ID, Stdout: io.MultiWriter(os.Stdout, telling{progress})}); err != nil {
		return err
	}
	progress.Write([]byte{phaseClosing})
	if e.Remove {
		if err := m.Remove(ctx, e.Identity, false); err != nil {
			return err
		}
	}
	return m.Close()
}

// tellingEngine tells when it is asked to make something.
type tellingEngine struct {
	sandbox.Engine
	progress io.Writer
}

func (e *tellingEngine) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.progress.Write([]byte{phaseCreating})
	return e.Engine.Create(ctx, id, spec)
}

func (e *tellingEngine) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.progress.Write([]byte{phaseCreating})
	return e.Engine.Start(ctx, id, spec)
}

// telling tells when it is written to.
type telling struct{ progress io.Writer }

func (w telling) Write(p []byte) (int, error) {
	w.progress.Write([]byte{phaseRunning})
	return len(p), nil
}

// caller is another process on its errand.
type caller struct {
	*exec.Cmd
	progress *os.File
	out      io.Reader
}

func (a *arena) errand(task, line string) errand {
	return errand{Host: a.host, Bridge: a.bridge, Identity: a.id(task), Spec: a.spec(), Line: line}
}

// send starts another process; more is added to its environment.
func send(t testing.TB, e errand, stdin io.Reader, more ...string) *caller {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{Cmd: exec.Command("/proc/self/exe")}
	// The race detector would hold every process for a second at its end.
	c.Env = append(append(os.Environ(), roleVariable+"="+string(text), "GORACE=atexit_sleep_ms=0"), more...)
	c.Stdin, c.Stderr = stdin, os.Stderr
	if c.out, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	c.progress, c.ExtraFiles = read, []*os.File{write}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill(); read.Close() })
	return c
}

// kill ends the process as nothing can prevent.
func (c *caller) kill() {
	if c.ProcessState == nil {
		c.Process.Kill()
		c.Wait()
	}
}

// reached is the last phase that the process came to.
func (c *caller) reached() byte {
	said, _ := io.ReadAll(c.progress)
	if len(said) == 0 {
		return phaseBefore
	}
	return said[len(said)-1]
}
