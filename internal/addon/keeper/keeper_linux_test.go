package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/unavailable"
)

// The test's program is its keeper, too.
const (
	buildVariable = "KEEPER_TEST_BUILD"
	idleVariable  = "KEEPER_TEST_IDLE"
)

func TestMain(m *testing.M) {
	if build := os.Getenv(buildVariable); build != "" {
		os.Exit(serve(build))
	}
	os.Exit(m.Run())
}

func serve(build string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := Inherit()
	if err != nil {
		return 1
	}
	idle, _ := time.ParseDuration(os.Getenv(idleVariable))
	if err := Serve(ctx, l, Serving{Pool: testPool{}, Build: build, Idle: idle, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		return 1
	}
	return 0
}

// testPool does what the name of a tool says.
type testPool struct{}

// said is what every tool answers.
type said struct {
	PID       int
	Arguments string
	Variables map[string]string
	Dumpable  int
	Open      []string
}

func (testPool) Call(ctx context.Context, feature, tool string, arguments json.RawMessage, variables map[string]string) (backend.Result, error) {
	switch tool {
	case "wait": // for a file, or until nobody wants to know
		path, _ := strconv.Unquote(string(arguments))
		os.WriteFile(path+".begun", nil, 0o600)
		for {
			if _, err := os.Stat(path); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				os.WriteFile(path+".cancelled", nil, 0o600)
				return backend.Result{}, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	case "unavailable":
		return backend.Result{}, (&unavailable.Error{Kind: unavailable.Backend, Reason: "it crashed", Next: "mend it"}).For(feature, []string{"x==1"})
	case "die": // and leave a mark each time
		path, _ := strconv.Unquote(string(arguments))
		before, _ := os.ReadFile(path)
		os.WriteFile(path, append(before, 'x'), 0o600)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "late":
		return backend.Result{}, fmt.Errorf("cannot call: %w", context.DeadlineExceeded)
	}
	dumpable, _, _ := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE, 0, 0)
	open := make([]string, 0)
	for fd := range 64 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			open = append(open, strconv.Itoa(fd))
		}
	}
	text, _ := json.Marshal(said{os.Getpid(), string(arguments), variables, int(dumpable), open})
	return backend.Result{Structured: text, Content: json.RawMessage(`[]`)}, nil
}

func (testPool) Tools(context.Context, string, map[string]string) ([]backend.Tool, error) {
	return []backend.Tool{{Name: "echo", Input: json.RawMessage(`{}`)}}, nil
}

func (testPool) Status() []backend.State { return []backend.State{{Feature: "ns.name"}} }

func (testPool) Close() {}

// newKeeper is one in a run directory of the test's own. What it starts ends with the test.
func newKeeper(t *testing.T, idle time.Duration) Keeper {
	t.Helper()
	run, err := os.MkdirTemp("", "keeper") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	k := Keeper{Home: "/a/home", Environ: []string{"XDG_RUNTIME_DIR=" + run, buildVariable + "=one", idleVariable + "=" + idle.String()}, Program: "/proc/self/exe", Arguments: []string{"keeper"}, Build: "one"}
	t.Cleanup(func() {
		end(t, k)
		os.RemoveAll(run)
	})
	return k
}

// another is the same keeper of another build.
func (k Keeper) another(build string) Keeper {
	k.Build = build
	return k
}

// end ends the keeper that runs, if one does.
func end(t *testing.T, k Keeper) {
	if s, err := k.Status(context.Background()); err == nil && s != nil {
		syscall.Kill(s.PID, syscall.SIGKILL)
		gone(t, s.PID)
	}
}

// gone waits until a process that this one started has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
				return
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Errorf("process %d does not end", pid)
	}
}

func (k Keeper) say(t *testing.T, tool, arguments string) (s said) {
	t.Helper()
	s, err := k.trySay(t.Context(), tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (k Keeper) trySay(ctx context.Context, tool, arguments string) (s said, err error) {
	r, err := k.Call(ctx, "ns.name", tool, json.RawMessage(arguments), map[string]string{"KEY": "hidden-value"})
	if err == nil {
		err = json.Unmarshal(r.Structured, &s)
	}
	return s, err
}

// file waits until a file is there.
func file(t *testing.T, path string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s does not appear", path)
}

func TestACallReachesThePoolWithAllItWasGiven(t *testing.T) {
	k := newKeeper(t, time.Minute)
	if s, err := k.Status(t.Context()); err != nil || s != nil {
		t.Fatalf("before: %+v, %v", s, err)
	}
	first := k.say(t, "echo", `{"a":1}`)
	if first.Arguments != `{"a":1}` || first.Variables["KEY"] != "hidden-value" {
		t.Errorf("%+v", first)
	}
	if again := k.say(t, "echo", `{}`); again.PID != first.PID || first.PID == os.Getpid() {
		t.Errorf("it is process %d, then %d, and this is %d", first.PID, again.PID, os.Getpid())
	}
	if tools, err := k.Tools(t.Context(), "ns.name", nil); err != nil || len(tools) != 1 || tools[0].Name != "echo" {
		t.Errorf("%+v, %v", tools, err)
	}
	s, err := k.Status(t.Context())
	if err != nil || s.PID != first.PID || s.Build != "one" || len(s.Backends) != 1 || s.Calls != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestErrorsStayWhatTheyAre(t *testing.T) {
	k := newKeeper(t, time.Minute)
	_, err := k.trySay(t.Context(), "unavailable", `{}`)
	var known *unavailable.Error
	if !errors.As(err, &known) || known.Feature != "ns.name" || known.Kind != unavailable.Backend || known.Reason != "it crashed" || known.Next != "mend it" || len(known.Missing) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := k.trySay(t.Context(), "late", `{}`); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "cannot call: context deadline exceeded" {
		t.Errorf("%v", err)
	}
	_, err = k.trySay(t.Context(), "echo", `"`+strings.Repeat("x", largestRequest)+`"`)
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}

// Whoever sends more than a caller of ours does is not listened to for longer.
func TestAKeeperReadsNoMoreThanItsBound(t *testing.T) {
	k := newKeeper(t, time.Minute)
	k.say(t, "echo", `{}`)
	socket, _ := k.running()
	_, _, err := k.post(t.Context(), socket, callPath, []byte(`{"feature":"`+strings.Repeat("x", largestRequest)+`"}`))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

func TestTheKeeperHasNothingOfWhoStartedIt(t *testing.T) {
	k := newKeeper(t, time.Minute)
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil { // not closed on exec, as a careless caller's
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	t.Setenv("A_SECRET", "hidden-value")
	s := k.say(t, "echo", `{}`)
	if fmt.Sprint(s.Open) != "[0 1 2]" {
		t.Errorf("descriptors %v came with it", s.Open)
	}
	if s.Dumpable != 0 {
		t.Errorf("it can be looked into: %d", s.Dumpable)
	}
	for fd := range 3 {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.PID, fd)); err != nil || to != os.DevNull {
			t.Errorf("descriptor %d is %s, %v", fd, to, err)
		}
	}
	if session, err := unix.Getsid(s.PID); err != nil || session != s.PID {
		t.Errorf("its session is %d, %v", session, err)
	}
	for _, name := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID, name))
		if err != nil || strings.Contains(string(text), "hidden-value") {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

func TestEnvironHasNoSecrets(t *testing.T) {
	got := Environ([]string{"PATH=/bin", "EXA_API_KEY=x", "HERMES_HOME=/h", "AWS_SECRET_ACCESS_KEY=y", "HTTPS_PROXY=p", "PATH=/bin", "NO_PROXY=", "API_SERVER_KEY=z"})
	if strings.Join(got, " ") != "HERMES_HOME=/h HTTPS_PROXY=p PATH=/bin" {
		t.Errorf("%q", got)
	}
}

func TestAnotherEnvironmentIsAnotherKeeper(t *testing.T) {
	k := newKeeper(t, time.Minute)
	first := k.say(t, "echo", `{}`)
	k.Environ = append(k.Environ, "HTTPS_PROXY=elsewhere")
	defer end(t, k)
	if other := k.say(t, "echo", `{}`); other.PID == first.PID {
		t.Error("they share a keeper")
	}
}

func TestWithoutAPlaceForItNothingIsCalled(t *testing.T) {
	k := newKeeper(t, time.Minute)
	unreached := func(name string, k Keeper) {
		_, err := k.trySay(t.Context(), "echo", `{}`)
		var none *UnreachableError
		if !errors.As(err, &none) || !strings.HasPrefix(err.Error(), "cannot keep backends warm: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := k
	broken.Program = "/bin/false"
	unreached("a program that ends at once", broken)
	broken.Program = "/nonexistent"
	unreached("a program that is not there", broken)
	socket, _ := k.running()
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("a socket without a keeper is left: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(socket, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	unreached("something that is no socket", k)
}
