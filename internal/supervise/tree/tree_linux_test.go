package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/test/machine"
)

const bound = 60 * time.Second

// TestMain makes orphans of the tests' processes children of this one, as they are of PID 1.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	os.Exit(machine.Alone(m))
}

// grow starts a script in a session of its own, as a tree, and waits until it says a line.
func grow(t *testing.T, f *Forest, script string) (tr *Tree, first *exec.Cmd, said string) {
	t.Helper()
	tr = f.Plant()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Env = append(os.Environ(), tr.Mark())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if fd := tr.Cgroup(); fd >= 0 {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, fd
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	tr.Rooted(cmd.Process.Pid)
	t.Cleanup(func() { tr.End(); cmd.Wait(); tr.Close() })
	var line []byte
	for b := make([]byte, 256); !strings.Contains(string(line), "\n"); {
		r.SetReadDeadline(time.Now().Add(bound))
		n, err := r.Read(b)
		if line = append(line, b[:n]...); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	return tr, cmd, strings.TrimSpace(string(line))
}

func numbers(t *testing.T, line string) (pids []int) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, n)
	}
	return pids
}

func living(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		p, ok := proc.Read(pid)
		return !ok || p.Zombie
	})
}

// forests are both kinds.
func forests(t *testing.T, f func(t *testing.T, f *Forest)) {
	t.Run("lineage", func(t *testing.T) { f(t, &Forest{}) })
	t.Run("cgroup", func(t *testing.T) {
		forest := NewForest()
		if !forest.Cgroups() {
			t.Skip("no cgroup can be made here")
		}
		defer func() {
			forest.Close()
			if _, err := os.Stat(forest.base); !os.IsNotExist(err) {
				t.Errorf("the cgroup is left: %v", err)
			}
		}()
		t.Run("", func(t *testing.T) { f(t, forest) })
	})
}

// The ways out of a tree that a service's children take.
const runaways = `
trap '' TERM
sleep 1000 & a=$!
setsid sleep 1000 & b=$!
exec 3< <(bash -c 'sleep 1000 >/dev/null & echo $!'); read c <&3
exec 3< <(bash -c 'setsid sleep 1000 >/dev/null & echo $!'); read d <&3
`

func TestEverybodyIsFound(t *testing.T) {
	forests(t, func(t *testing.T, f *Forest) {
		// The one without an environment has nothing but its parent.
		tr, cmd, said := grow(t, f, runaways+`env -i setsid sleep 1000 & e=$!; until [ "$(cat /proc/$e/comm)" = sleep ]; do :; done; echo $a $b $c $d $e $$; wait`)
		pids := numbers(t, said)
		if alive := living(pids); len(alive) != 6 {
			t.Fatalf("of %v live %v", pids, alive)
		}
		if left := tr.End(); left != nil {
			t.Errorf("%v are left", left)
		}
		cmd.Wait()
		if alive := living(pids); len(alive) > 0 {
			t.Errorf("of %v live %v", pids, alive)
		}
	})
}

func TestTheRestIsFoundWhenTheFirstHasEnded(t *testing.T) {
	forests(t, func(t *testing.T, f *Forest) {
		tr, cmd, said := grow(t, f, runaways+`echo $a $b $c $d`)
		pids := numbers(t, said)
		cmd.Wait()
		if alive := living(pids); len(alive) != 4 {
			t.Fatalf("of %v live %v", pids, alive)
		}
		if left := tr.End(); left != nil {
			t.Errorf("%v are left", left)
		}
		if alive := living(pids); len(alive) > 0 {
			t.Errorf("of %v live %v", pids, alive)
		}
	})
}

// A tree that forks as fast as it can is caught in the end.
func TestThoseWhoForkAllTheTimeAreCaught(t *testing.T) {
	forests(t, func(t *testing.T, f *Forest) {
		tr, cmd, _ := grow(t, f, `run() { while :; do (exec sleep 0.01) & sleep 0.002; done; }; run & run & echo; wait`)
		if left := tr.End(); left != nil {
			t.Errorf("%v are left", left)
		}
		cmd.Wait()
	})
}

func TestOthersAreLeftAlone(t *testing.T) {
	forests(t, func(t *testing.T, f *Forest) {
		_, _, beside := grow(t, f, `setsid sleep 1000 & echo $$ $!; wait`)
		tr, cmd, _ := grow(t, f, `echo; sleep 1000`)
		if left := tr.End(); left != nil {
			t.Errorf("%v are left", left)
		}
		cmd.Wait()
		if pids := numbers(t, beside); len(living(pids)) != 2 {
			t.Errorf("of %v live %v", pids, living(pids))
		}
	})
}

// A sandbox outlives the service that made it: here its guest is another program under a guest's name.
func TestASandboxIsNotPartOfTheService(t *testing.T) {
	forests(t, func(t *testing.T, f *Forest) {
		guest := filepath.Join(t.TempDir(), "guest-0123456789abcdef")
		if out, err := exec.Command("cp", "/bin/bash", guest).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
		tr, cmd, said := grow(t, f, `exec 3< <(env -i PATH="$PATH" setsid `+guest+` -c 'setsid sleep 1000 >/dev/null & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; echo $$ $!; exec >/dev/null; wait')
read guest below <&3; sleep 1000 >/dev/null & echo $guest $below $!; wait`)
		pids := numbers(t, said)
		t.Cleanup(func() {
			for _, pid := range pids[:2] {
				unix.Kill(pid, unix.SIGKILL)
			}
			// Its cgroup, which is the forest's, can be removed when the kernel says that they have left it.
			populated := func() bool {
				events, _ := os.ReadFile(filepath.Join(f.base, "cgroup.events")) // none where there are no cgroups
				return strings.Contains(string(events), "populated 1")
			}
			for end := time.Now().Add(bound); populated() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		})
		if left := tr.End(); left != nil {
			t.Errorf("%v are left", left)
		}
		cmd.Wait()
		if alive := living(pids); !slices.Equal(alive, pids[:2]) {
			t.Errorf("of %v live %v", pids, alive)
		}
	})
}

// The number of the first process may be somebody else's once it is reaped.
func TestANumberThatIsSomebodyElsesIsNoMember(t *testing.T) {
	l := lineage{first: 100, mark: Variable + "=x", since: 5, known: map[int]uint64{100: 5, 101: 6, 102: 6}}
	all := []proc.Process{
		{PID: 100, Parent: 1, Group: 100, Session: 100, Started: 9},
		{PID: 101, Parent: 100, Group: 100, Session: 100, Started: 6},
		{PID: 102, Parent: 1, Group: 102, Session: 102, Started: 8},
	}
	if got := l.members(all); len(got) != 1 || got[0].PID != 101 {
		t.Errorf("members are %v", got)
	}
}

func TestACensusIsSharedAndNeverOld(t *testing.T) {
	var c census
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			self := os.Getpid()
			if all := c.take(); !slices.ContainsFunc(all, func(p proc.Process) bool { return p.PID == self }) {
				t.Errorf("among %d processes we are not", len(all))
			}
		})
	}
	wg.Wait()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if !slices.ContainsFunc(c.take(), func(p proc.Process) bool { return p.PID == cmd.Process.Pid }) {
		t.Error("one who was there before the look began is missing")
	}
}

func TestWithoutTheRightToSignalOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has the right to become somebody")
	}
	const inside = "TREE_TEST_WITHOUT_KILL"
	if os.Getenv(inside) == "" {
		cmd := exec.Command("setpriv", "--bounding-set", "-kill", os.Args[0], "-test.run=^TestWithoutTheRightToSignalOthers$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != unix.EPERM {
		t.Errorf("we have the right: %v", err)
	}
	if err := Signal(cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if got := unix.Getuid(); got != 0 {
		t.Errorf("we are %d", got)
	}
}

// A mistake in this package must not reach beyond its own tests.
func TestTheseTestsAreAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make namespaces without further ado")
	}
	others := slices.DeleteFunc(proc.All(), func(p proc.Process) bool { return p.Zombie })
	if os.Getpid() != 1 || len(others) > 50 {
		t.Errorf("we are %d among %d processes", os.Getpid(), len(others))
	}
}
