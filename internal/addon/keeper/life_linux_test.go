package keeper

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/addon/unavailable"
)

func TestManyCallersStartOneKeeper(t *testing.T) {
	k := newKeeper(t, time.Minute)
	pids := make([]int, 20)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			s, err := k.trySay(t.Context(), "echo", `{}`)
			if err != nil {
				t.Error(err)
			}
			pids[i] = s.PID
		})
	}
	wg.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Fatalf("they were answered by %v", pids)
		}
	}
	// One that found nobody, and came too late to be the first.
	socket, _ := k.running()
	if err := k.start(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	if s := k.say(t, "echo", `{}`); s.PID != pids[0] {
		t.Errorf("%d took the place of %d", s.PID, pids[0])
	}
}

func TestAKeeperThatWasKilledIsReplaced(t *testing.T) {
	k := newKeeper(t, time.Minute)
	first := k.say(t, "echo", `{}`)
	syscall.Kill(first.PID, syscall.SIGKILL)
	gone(t, first.PID)
	if s, err := k.Status(t.Context()); err != nil || s != nil {
		t.Errorf("the dead one says %+v, %v", s, err)
	}
	if second := k.say(t, "echo", `{}`); second.PID == first.PID {
		t.Error("it answers")
	}
}

// What may have been done is not done again.
func TestACallDuringWhichTheKeeperEndsIsNotMadeAgain(t *testing.T) {
	k := newKeeper(t, time.Minute)
	path := filepath.Join(t.TempDir(), "deaths")
	_, err := k.trySay(t.Context(), "die", strconv.Quote(path))
	if !errors.Is(err, unavailable.Backend) || !strings.Contains(err.Error(), "ended during the call") {
		t.Errorf("%v", err)
	}
	if deaths, err := os.ReadFile(path); err != nil || string(deaths) != "x" {
		t.Errorf("it was made %d times, %v", len(deaths), err)
	}
}

func TestAKeeperOfAnotherBuildGivesWayAndFinishesWhatItBegan(t *testing.T) {
	k := newKeeper(t, time.Minute)
	path := filepath.Join(t.TempDir(), "go-on")
	var wg sync.WaitGroup
	var slow said
	var failed error
	wg.Go(func() { slow, failed = k.trySay(t.Context(), "wait", strconv.Quote(path)) })
	file(t, path+".begun")
	// The environment says which build it is, so that the same keeper is meant only by its place.
	next := k.another("two")
	next.Program, next.Arguments = "/bin/sh", []string{"sh", "-c", "export " + buildVariable + "=two; exec " + self(t)}
	second, err := next.trySay(t.Context(), "echo", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := next.Status(t.Context()); err != nil || s.Build != "two" || s.PID != second.PID {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if failed != nil || slow.PID == second.PID {
		t.Errorf("the first is answered by %d, the second by %d: %v", slow.PID, second.PID, failed)
	}
	gone(t, slow.PID)
	if again := next.say(t, "echo", `{}`); again.PID != second.PID {
		t.Error("the old one took the socket of the new one with it")
	}
}

// Somebody cleans the directory up, and a second keeper is started where the first one still is.
func TestAKeeperTakesOnlyItsOwnSocketAway(t *testing.T) {
	k := newKeeper(t, time.Minute)
	first := k.say(t, "echo", `{}`).PID
	socket, _ := k.running()
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	second := k.say(t, "echo", `{}`).PID
	syscall.Kill(first, syscall.SIGTERM)
	gone(t, first)
	if third := k.say(t, "echo", `{}`).PID; third != second || second == first {
		t.Errorf("%d, %d and %d answer", first, second, third)
	}
}

func self(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnIdleKeeperLeavesNothing(t *testing.T) {
	k := newKeeper(t, 50*time.Millisecond)
	s := k.say(t, "echo", `{}`)
	gone(t, s.PID)
	socket, _ := k.running()
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("its socket is left: %v", err)
	}
}

// A caller may find a keeper that is about to leave.
func TestNoCallIsLostWhenAKeeperLeaves(t *testing.T) {
	const idle = 50 * time.Millisecond
	k := newKeeper(t, idle)
	for i := range 24 {
		if _, err := k.trySay(t.Context(), "echo", `{}`); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		time.Sleep(idle - 2*time.Millisecond + time.Duration(i)*250*time.Microsecond) // over the moment at which it leaves
	}
}

func TestACallerWhoGoesAwayEndsHisCall(t *testing.T) {
	k := newKeeper(t, time.Minute)
	path := filepath.Join(t.TempDir(), "never")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := k.trySay(ctx, "wait", strconv.Quote(path)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	file(t, path+".begun")
	cancel()
	wg.Wait()
	file(t, path+".cancelled")
}

func TestAKeeperThatIsToldToEndDoesNotWaitForCalls(t *testing.T) {
	k := newKeeper(t, time.Minute)
	pid := k.say(t, "echo", `{}`).PID
	path := filepath.Join(t.TempDir(), "never")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := k.trySay(t.Context(), "wait", strconv.Quote(path))
		if err == nil || errors.Is(err, unavailable.Backend) {
			t.Errorf("its caller is not told: %v", err)
		}
	})
	file(t, path+".begun")
	syscall.Kill(pid, syscall.SIGTERM)
	wg.Wait()
	gone(t, pid)
	file(t, path+".cancelled")
}

func TestAKeeperThatIsStoppedHoldsNobodyUp(t *testing.T) {
	k := newKeeper(t, time.Minute)
	s := k.say(t, "echo", `{}`)
	k.patience = 200 * time.Millisecond
	syscall.Kill(s.PID, syscall.SIGSTOP)
	if _, err := unix.Wait4(s.PID, nil, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	_, err := k.trySay(t.Context(), "echo", `{}`)
	syscall.Kill(s.PID, syscall.SIGCONT)
	var none *UnreachableError
	if !errors.As(err, &none) || !errors.Is(err, errSilent) {
		t.Errorf("%v", err)
	}
}

func TestAnotherUserIsNotAnswered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "keeper")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	os.Chmod(dir, 0o755)
	os.Chmod(path, 0o666)
	accepted := make(chan net.Conn, 2)
	l := newListener(made)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	connect := func() (closed bool) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			t.Error(err)
			return false
		}
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
		n, err := unix.Read(fd, make([]byte, 1))
		return n == 0 && err == nil
	}
	stranger := make(chan bool)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with its user
		unix.RawSyscall(unix.SYS_SETRESUID, 4242, 4242, 4242)
		stranger <- connect()
	}()
	if !<-stranger {
		t.Error("a stranger was not sent away")
	}
	made.Close()
	if c := <-accepted; c != nil {
		t.Error("a stranger was let in")
	}
}
