package lifeline

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stuckVariable makes this program a service that does not end when it should.
const stuckVariable = "HERMES_TEST_STUCK"

func TestMain(m *testing.M) {
	if os.Getenv(stuckVariable) != "" {
		ctx, _ := hold(context.Background(), os.LookupEnv, 50*time.Millisecond)
		<-ctx.Done()
		select {}
	}
	os.Exit(m.Run())
}

// line is a pipe, of which the reading end's number is the caller's to give away.
func line(t *testing.T) (number string, other *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	other = os.NewFile(uintptr(fds[1]), "other end")
	t.Cleanup(func() { other.Close() })
	return strconv.Itoa(fds[0]), other
}

func named(number string) func(string) (string, bool) {
	return func(name string) (string, bool) { return number, name == Variable }
}

func TestTheContextEndsWithTheOtherEnd(t *testing.T) {
	number, other := line(t)
	ctx, letGo := Hold(t.Context(), named(number))
	defer letGo()
	if ctx.Err() != nil {
		t.Fatal("it has ended before the other end was closed")
	}
	other.Close()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on without the other end")
	}
}

// Who lets go returns, though the other end is open, and leaves no descriptor.
func TestLettingGoWaitsForNobody(t *testing.T) {
	number, _ := line(t)
	_, letGo := Hold(t.Context(), named(number))
	done := make(chan struct{})
	go func() { defer close(done); letGo() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the other end")
	}
	fd, _ := strconv.Atoi(number)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
		t.Error("the descriptor is still open")
	}
}

// A variable that came down from an ancestor names what is none of ours.
func TestWhatIsNoPipeIsLeftAlone(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, number := range []string{"", "0", "2", "-1", "x", "60000", strconv.Itoa(int(file.Fd()))} {
		ctx, letGo := Hold(context.Background(), named(number))
		letGo()
		if ctx != context.Background() {
			t.Errorf("%q was taken for a line", number)
		}
	}
	if _, err := file.WriteString("still open"); err != nil {
		t.Error(err)
	}
}

// What hangs in its own end has nobody who kills it when its supervisor is gone: it does so itself.
func TestAStuckServiceDoesNotOutliveItsSupervisor(t *testing.T) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.ExtraFiles = []string{stuckVariable + "=1", Variable + "=3"}, []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ended := make(chan struct{})
	go func() { defer close(ended); cmd.Wait() }()
	defer func() { cmd.Process.Kill(); <-ended }()
	ours.Close()
	select {
	case <-ended:
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("it ended with %v", cmd.ProcessState)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it lives on")
	}
}

// Who ends in time is not killed, however long it lives after it has let go.
func TestWhoLetsGoIsNotKilled(t *testing.T) {
	number, other := line(t)
	ctx, letGo := hold(t.Context(), named(number), time.Millisecond)
	letGo() // with the other end open: nothing was the end of the supervisor
	other.Close()
	<-ctx.Done()
	number, other = line(t)
	ctx, letGo = hold(t.Context(), named(number), time.Hour)
	other.Close()
	<-ctx.Done()
	letGo()
}
