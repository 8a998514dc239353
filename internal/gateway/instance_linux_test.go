package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/profile"
)

// childVariable makes this test program a gateway: the value is its home, and a word how it behaves.
const childVariable = "GATEWAY_TEST_CHILD"

func TestMain(m *testing.M) {
	home, manner, isChild := strings.Cut(os.Getenv(childVariable), "|")
	if !isChild {
		os.Exit(m.Run())
	}
	os.Exit(child(home, manner))
}

// child is a gateway in a process of its own. It says on its standard output when it listens.
func child(home, manner string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if manner == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	err := Run(ctx, Options{
		Profile: profile.Default, Dir: home, Settings: config.Gateway{Host: "127.0.0.1"}, Records: &profile.Home{Root: home},
		Supervised: manner == "supervised", Ready: func() { fmt.Println("ready") }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// other starts a gateway in another process.
func other(t *testing.T, home, manner string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+home+"|"+manner)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	return cmd
}

// lives says whether a process still runs: one that has ended and was not waited for does not.
func lives(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	return !(&process{fd: fd}).ended(100 * time.Millisecond)
}

func TestASecondGatewayGivesWay(t *testing.T) {
	o, r := options(t)
	cmd := other(t, r.dir, "by hand")
	err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "already running") || !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	if state := r.written(); state["gateway_state"] != "running" || state["pid"] != float64(cmd.Process.Pid) {
		t.Errorf("the first one's state is %v", state)
	}
	// One that cannot run ends nobody, and writes nothing over what runs.
	o.Settings, o.Replace = config.Gateway{Host: "0.0.0.0"}, true
	if bad := (*ConfigError)(nil); !errors.As(Run(t.Context(), o), &bad) {
		t.Error("a bad configuration was taken")
	}
	if state := r.written(); state["gateway_state"] != "running" || !lives(t, cmd) {
		t.Errorf("the first one's state is %v", state)
	}
}

func TestAStrayGatewayIsReplaced(t *testing.T) {
	for _, manner := range []string{"by hand", "stubborn", "supervised"} {
		o, r := options(t)
		cmd := other(t, r.dir, manner)
		o.Replace, o.Supervised = true, manner == "supervised"
		if manner == "stubborn" {
			o.grace = 50 * time.Millisecond
		}
		ctx, stop := context.WithCancel(t.Context())
		r.run(func() error { return Run(ctx, o) })
		if state := r.written(); state["gateway_state"] != "running" || state["pid"] != float64(os.Getpid()) {
			t.Errorf("%s: written: %v", manner, state)
		}
		err := cmd.Wait()
		killed := strings.Contains(fmt.Sprint(err), "killed")
		if killed != (manner == "stubborn") {
			t.Errorf("%s: it ended with %v", manner, err)
		}
		stop()
		r.end()
	}
}

func TestWhatASupervisorKeepsIsNotReplacedByHand(t *testing.T) {
	o, r := options(t)
	cmd := other(t, r.dir, "supervised")
	o.Replace = true
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "supervisor would bring it back") {
		t.Errorf("got %v", err)
	}
	if !lives(t, cmd) {
		t.Error("it was ended")
	}
}

func TestAKilledGatewayIsInNobodysWay(t *testing.T) {
	o, r := options(t)
	cmd := other(t, r.dir, "by hand")
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Stat(filepath.Join(r.dir, "gateway.pid")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.run(func() error { return Run(ctx, o) })
	stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// Who is ended is known by more than a number, and only if it is ours.
func TestAStrangerIsNotEnded(t *testing.T) {
	start := func(attr *syscall.SysProcAttr) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	write := func(dir string, h any) {
		content, _ := json.Marshal(h)
		if err := os.WriteFile(filepath.Join(dir, "gateway.pid"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, r := options(t)
	o.Replace = true
	stranger := start(nil)
	for name, content := range map[string]any{
		"another start": holder{PID: stranger.Process.Pid, Start: "1"},
		"init":          holder{PID: 1, Start: "0"},
		"everybody":     holder{PID: -1},
		"no object":     []int{stranger.Process.Pid},
	} {
		write(r.dir, content)
		only, err := claim(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		only.release()
	}
	if os.Geteuid() == 0 {
		foreign := start(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}})
		began, err := proc.StartTime(foreign.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		write(r.dir, holder{PID: foreign.Process.Pid, Start: began})
		if _, err := claim(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("got %v", err)
		}
		if !lives(t, foreign) {
			t.Error("another user's process was ended")
		}
	}
	if !lives(t, stranger) {
		t.Error("the stranger was ended")
	}
}

// A lock that nobody explains is respected.
func TestALockOfAnotherContainerIsRespected(t *testing.T) {
	o, r := options(t)
	only, err := claim(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer only.release()
	os.Remove(filepath.Join(r.dir, "gateway.pid"))
	o.Replace = true
	if _, err := claim(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another container") {
		t.Errorf("got %v", err)
	}
}
