package faults

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// process is one that a test started from its own binary.
type process struct {
	*exec.Cmd
	progress *os.File // what it writes to descriptor 3
	waited   chan struct{}
}

// startRole starts this binary in a role. Its settings are variables, and its
// standard output is thrown away.
func startRole(t testing.TB, role string, settings map[string]string) *process {
	t.Helper()
	p := prepareRole(t, role, settings)
	p.begin(t)
	return p
}

// prepareRole is startRole without the start.
func prepareRole(t testing.TB, role string, settings map[string]string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(self(t)), waited: make(chan struct{})}
	// The race detector would hold every process for a second at its end.
	p.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	for k, v := range settings {
		p.Env = append(p.Env, "HERMES_FAULTS_SET_"+k+"="+v)
	}
	p.Stderr = os.Stderr
	return p
}

func (p *process) begin(t testing.TB) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.progress, p.ExtraFiles = read, []*os.File{write}
	err = p.Start()
	write.Close()
	if err != nil {
		read.Close()
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.waited)
	}()
	t.Cleanup(func() {
		p.kill()
		read.Close()
	})
}

// kill ends the process as nothing can prevent, and waits for its end.
func (p *process) kill() {
	p.Process.Signal(syscall.SIGKILL)
	<-p.waited
}

func setting(name string) string { return os.Getenv("HERMES_FAULTS_SET_" + name) }

// callerRole is a caller that runs one command, and tells on descriptor 3 how far
// it has come: the letters of phases.
func callerRole() error {
	progress := os.NewFile(3, "progress")
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	m := sandbox.NewManager(&tellingEngine{engine, progress}, sandbox.Options{NoSweep: true})
	ctx := context.Background()
	id := sandbox.Identity{Home: setting("home"), Task: setting("task")}
	box, err := m.Ensure(ctx, id, spec())
	if err != nil {
		return err
	}
	progress.Write([]byte{phaseHanded})
	command := sandbox.Command{Line: setting("line"), ID: setting("id"), Stdout: &telling{progress}, Detached: setting("detached") != ""}
	if setting("stdin") == "endless" {
		command.Stdin = new(endless)
	}
	if _, err := box.Exec(ctx, command); err != nil {
		return err
	}
	progress.Write([]byte{phaseClosing})
	if setting("remove") != "" {
		if err := m.Remove(ctx, id, false); err != nil {
			return err
		}
	}
	return m.Close()
}

// The phases of a caller, in their order.
const (
	phaseBefore   = 'b' // it has no lock yet
	phaseCreating = 'c'
	phaseHanded   = 'h' // the sandbox is there, its command is not
	phaseRunning  = 'x' // the command has said something
	phaseClosing  = 'q'
)

// tellingEngine tells when it is asked to create something.
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

func (w *telling) Write(p []byte) (int, error) {
	w.progress.Write([]byte{phaseRunning})
	return len(p), nil
}

// spec is what the settings ask for.
func spec() sandbox.Spec {
	s := sandbox.Spec{Ephemeral: setting("ephemeral") != ""}
	if source := setting("mount"); source != "" {
		s.Mounts = []sandbox.Mount{{Source: source, Target: setting("target"), ReadOnly: setting("writable") == ""}}
	}
	return s
}
