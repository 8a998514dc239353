package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"hermes.example/hermes/sandbox"
)

// roleVariable makes the test binary another process of the suite.
const roleVariable = "HERMES_ENGINETEST_ROLE"

// The roles.
const (
	roleCaller = "caller" // a program that uses the engine
	roleInside = "inside" // a program that was copied into a sandbox
)

// Main is an engine's TestMain. The engine is what other processes use.
func Main(m *testing.M, engine func() (sandbox.Engine, error)) {
	switch os.Getenv(roleVariable) {
	case roleCaller:
		os.Exit(call(engine))
	case roleInside:
		os.Exit(inside(os.Args[1:]))
	}
	flag.Parse()
	// Tests wait more than they compute.
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// errand is what another process does: it ensures a sandbox and runs a command.
type errand struct {
	Identity sandbox.Identity
	Spec     sandbox.Spec
	Session  string
	Line     string
	ID       string
	Detached bool
	Window   int64
	// Background starts the line as a background process, whose id is printed.
	Background bool
	// Abandon makes the process end without giving anything up.
	Abandon bool
}

// verdict is how the errand ended.
type verdict struct {
	Result sandbox.Result
	Error  string `json:",omitempty"`
}

// call is the other process: the errand comes in, the command's output goes out,
// and the verdict goes to the error output.
func call(engine func() (sandbox.Engine, error)) int {
	var e errand
	if err := json.NewDecoder(os.Stdin).Decode(&e); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	v := verdict{}
	result, err := e.do(engine)
	v.Result = result
	if err != nil {
		v.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stderr).Encode(v); err != nil {
		return 1
	}
	return 0
}

func (e errand) do(engine func() (sandbox.Engine, error)) (result sandbox.Result, err error) {
	made, err := engine()
	if err != nil {
		return result, err
	}
	manager := sandbox.NewManager(made, sandbox.Options{NoSweep: true})
	if !e.Abandon {
		defer func() {
			if closeErr := manager.Close(); err == nil {
				err = closeErr
			}
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	box, err := manager.Ensure(ctx, e.Identity, e.Spec)
	if err != nil {
		return result, err
	}
	if e.Background {
		p, err := box.Start(ctx, sandbox.Background{Command: sandbox.Command{Line: e.Line, ID: e.ID}})
		if err != nil {
			return result, err
		}
		fmt.Println(p.ID)
		return p.Wait(ctx)
	}
	c := sandbox.Command{Line: e.Line, ID: e.ID, Detached: e.Detached, Window: e.Window, Stdout: os.Stdout}
	if e.Session != "" {
		return box.Session(e.Session).Exec(ctx, c)
	}
	return box.Exec(ctx, c)
}

// caller is another process on its errand.
type caller struct {
	t      *testing.T
	cmd    *exec.Cmd
	Out    io.Reader
	stderr bytes.Buffer
}

// elsewhere starts another process. The test kills it, or waits for it.
func (s *suite) elsewhere(t *testing.T, e errand) *caller {
	t.Helper()
	e.Line = s.paths(t, e.Identity, e.Spec).in(e.Line)
	input, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{t: t, cmd: exec.Command(self(t))}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+roleCaller)
	c.cmd.Stdin = bytes.NewReader(input)
	c.cmd.Stderr = &c.stderr
	if c.Out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// self is this program. Its path may lie where another user cannot go.
func self(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kill ends the process as a crash would.
func (c *caller) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

// wait returns how the errand ended and what its command printed.
func (c *caller) wait() (verdict, string) {
	c.t.Helper()
	out, err := io.ReadAll(c.Out)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("the other process failed: %v\n%s", err, c.stderr.String())
	}
	var v verdict
	if err := json.Unmarshal(c.stderr.Bytes(), &v); err != nil {
		c.t.Fatalf("the other process said %q", c.stderr.String())
	}
	return v, string(out)
}

// done waits for an errand that must succeed.
func (c *caller) done() (sandbox.Result, string) {
	c.t.Helper()
	v, out := c.wait()
	if v.Error != "" {
		c.t.Fatalf("the other process failed: %s", v.Error)
	}
	return v.Result, out
}

// reads waits until the process has passed on this much output.
func (c *caller) reads(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.Out, got); err != nil || string(got) != want {
		c.t.Fatalf("the other process passed on %q, not %q: %v", got, want, err)
	}
}
