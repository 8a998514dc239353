package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

// errandVariable makes the test's program one that has a backend until it is killed, in the home that it names.
const errandVariable = "HERMES_BACKEND_ERRAND"

// keep starts a backend with a child, says who they are, and waits.
func keep(home string) int {
	engine, err := local.New(local.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	b, err := Start(ctx, sandbox.NewManager(engine, sandbox.Options{NoSweep: true}), home, server(home))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(answered(b.Call(ctx, "environment", nil))["pid"], answered(b.Call(ctx, "bear", nil))["child"])
	select {}
}

func answered(r Result, err error) (answer object) {
	if err == nil {
		err = json.Unmarshal(r.Structured, &answer)
	}
	if err != nil {
		return object{"pid": err, "child": err}
	}
	return answer
}

// Whoever has a backend is killed, and nothing of the backend is left: neither itself nor what it has started.
func TestABackendEndsWithWhoeverHasIt(t *testing.T) {
	s := newStage(t)
	s.keeperIsKilled()
	if _, err := s.manager.Prune(t.Context(), s.home, false); err != nil {
		t.Error(err)
	}
}

// The run directory is in memory, and the home is not.
func TestAKilledBackendLeavesNothingAfterARestartOfTheMachine(t *testing.T) {
	s := newStage(t)
	s.keeperIsKilled()
	if err := os.RemoveAll(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hermes")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hermes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.manager.Prune(t.Context(), s.home, false); err != nil {
		t.Error(err)
	}
}

// keeperIsKilled has a process start a backend, kills it, and waits for the end of the backend.
func (s *stage) keeperIsKilled() {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), errandVariable+"="+s.home)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	pids := strings.Fields(said)
	if err != nil || len(pids) != 2 {
		s.Fatalf("%q, %v", said, err)
	}
	ctx := s.ctx()
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			s.Fatalf("%q", said)
		}
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			select {
			case <-ctx.Done():
				s.Fatalf("process %d lives", pid)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	for running := true; running; {
		left, err := s.manager.List(ctx, s.home)
		if err != nil || len(left) != 1 || ctx.Err() != nil {
			s.Fatal(left, err)
		}
		running = left[0].State != sandbox.Stopped
	}
}
