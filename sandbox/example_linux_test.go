package sandbox_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// TestMain gives the examples a home and a run directory of their own. Where no
// native sandbox can be made they are left out, and the reason is said.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hermes-examples-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		os.Setenv("XDG_RUNTIME_DIR", dir)
		os.Setenv("HERMES_HOME", dir)
		if err := canRun(dir); err != nil {
			fmt.Fprintln(os.Stderr, "the examples are left out:", err)
			flag.Parse()
			flag.Set("test.skip", "^Example")
		}
		return m.Run()
	}())
}

func canRun(home string) error {
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	manager := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	_, err = manager.Ensure(context.Background(), sandbox.Identity{Home: home, Task: "probe"}, sandbox.Spec{Ephemeral: true})
	return errors.Join(err, manager.Close())
}

// A command in a hardened sandbox without network, which is made for it and goes
// with it.
func Example() {
	ctx := context.Background()
	home := os.Getenv("HERMES_HOME")
	engine, err := native.New(native.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	manager := sandbox.NewManager(engine, sandbox.Options{})
	defer manager.Close()
	box, err := manager.Ensure(ctx, sandbox.Identity{Home: home, Task: "build"}, sandbox.Spec{Ephemeral: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := box.Exec(ctx, sandbox.Command{Line: "echo hello from $PWD; exit 3", Stdout: os.Stdout})
	fmt.Println(result.Code, result.Reason, err)
	// Output:
	// hello from /workspace
	// 3 exit <nil>
}

// open is what the beginning of Example does.
func open(task string, spec sandbox.Spec) (*sandbox.Manager, *sandbox.Sandbox) {
	engine, err := native.New(native.Options{})
	if err != nil {
		panic(err)
	}
	manager := sandbox.NewManager(engine, sandbox.Options{})
	spec.Ephemeral = true
	box, err := manager.Ensure(context.Background(), sandbox.Identity{Home: os.Getenv("HERMES_HOME"), Task: task}, spec)
	if err != nil {
		panic(err)
	}
	return manager, box
}

// A session keeps directory, exported variables, functions and aliases, also when
// a line ends by exit.
func ExampleSession() {
	ctx := context.Background()
	manager, box := open("session", sandbox.Spec{})
	defer manager.Close()
	session := box.Session("mine")
	result, _ := session.Exec(ctx, sandbox.Command{Line: "cd /usr; export GREETING=hello; greet() { echo $GREETING $1; }; exit 7"})
	fmt.Println(result.Code, result.Cwd)
	session.Exec(ctx, sandbox.Command{Line: "greet world; pwd", Stdout: os.Stdout})
	// Output:
	// 7 /usr
	// hello world
	// /usr
}

// A timeout ends the command with everything that it started.
func ExampleCommand_timeout() {
	manager, box := open("timeout", sandbox.Spec{})
	defer manager.Close()
	result, _ := box.Exec(context.Background(), sandbox.Command{
		Line:    "echo working; setsid sleep 1000 & sleep 1000",
		Stdout:  os.Stdout,
		Timeout: time.Second,
	})
	fmt.Println(result.Code, result.Reason)
	// Output:
	// working
	// [Command timed out after 1s]
	// 124 timeout
}

// A command with an id runs once, however often it is asked for. Who asks again
// gets the same output and the same result.
func ExampleCommand_id() {
	manager, box := open("id", sandbox.Spec{})
	defer manager.Close()
	for range 3 {
		box.Exec(context.Background(), sandbox.Command{ID: "job-1", Line: "echo x >>runs; wc -l <runs", Stdout: os.Stdout})
	}
	// Output:
	// 1
	// 1
	// 1
}

// The posture is read back after the start. What cannot be enforced can be
// demanded, and is then an error instead of a weaker sandbox.
func ExamplePosture() {
	ctx := context.Background()
	manager, box := open("posture", sandbox.Spec{})
	defer manager.Close()
	posture, err := box.Posture(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fact := range posture.Facts {
		if fact.Name == sandbox.FactNetwork || fact.Name == sandbox.FactCapabilities {
			fmt.Println(fact.Name+":", fact.Value)
		}
	}
	_, err = manager.Ensure(ctx, sandbox.Identity{Home: os.Getenv("HERMES_HOME"), Task: "open"},
		sandbox.Spec{Network: sandbox.NetworkHost, Require: []string{sandbox.FactNetwork}})
	var missing *sandbox.PostureError
	fmt.Println(errors.As(err, &missing), strings.Join(missing.Missing, ", "))
	// Output:
	// capabilities: CHOWN DAC_OVERRIDE FOWNER SETGID SETUID
	// network: none
	// true network (the host's whole network is reachable)
}
