package reaper

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// No test here may use os/exec: there is a reaper.

const bound = 60 * time.Second

func shell(script string) func() (int, error) {
	return func() (int, error) {
		return syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin"}})
	}
}

func ended(t *testing.T, c <-chan syscall.WaitStatus) syscall.WaitStatus {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(bound):
		t.Fatal("nobody tells of its end")
		return 0
	}
}

func TestEndsAreTold(t *testing.T) {
	r := New()
	defer r.Close()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, c, err := r.Start(shell("exit " + strconv.Itoa(i)))
			if err != nil {
				t.Error(err)
				return
			}
			if s := ended(t, c); s.ExitStatus() != i {
				t.Errorf("%d became %v", i, s)
			}
		})
	}
	wg.Wait()
	if len(r.waiting) > 0 {
		t.Errorf("%d are still waited for", len(r.waiting))
	}
}

func TestAStartThatFailsIsNobodysChild(t *testing.T) {
	r := New()
	defer r.Close()
	_, c, err := r.Start(func() (int, error) { return syscall.ForkExec("/no/such", []string{"x"}, nil) })
	if !errors.Is(err, syscall.ENOENT) || c != nil {
		t.Errorf("%v, %v", c, err)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	if err := Subreaper(); err != nil {
		t.Fatal(err)
	}
	r := New()
	defer r.Close()
	_, c, err := r.Start(shell("for i in 1 2 3 4 5; do (setsid sh -c : &); done"))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, c)
	for end := time.Now().Add(bound); children(t) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d children are left", children(t))
		}
	}
}

// children counts those of this process, also the dead.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children") // a thread may end
		n += len(strings.Fields(string(list)))
	}
	return n
}

func TestOnlyTheLivingAreSignalled(t *testing.T) {
	r := New()
	defer r.Close()
	pid, c, err := r.Start(shell("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	send := func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
	if err := r.Signal(pid, send); err != nil {
		t.Error(err)
	}
	if s := ended(t, c); s.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", s)
	}
	called := false
	if err := r.Signal(pid, func(int) error { called = true; return nil }); err != nil || called {
		t.Errorf("a number that may be somebody else's was signalled, %v", err)
	}
}

func TestAStopIsNoEnd(t *testing.T) {
	r := New()
	defer r.Close()
	pid, c, err := r.Start(shell("kill -STOP $$; exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return strings.Contains(string(stat), ") T ")
	}
	for end := time.Now().Add(bound); !stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not stop")
		}
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if s := ended(t, c); s.ExitStatus() != 7 {
		t.Errorf("it ended with %v", s)
	}
}
