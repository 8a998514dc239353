package cgroup

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mapped is the guest's uid on the host in these tests: one that owns nothing.
const mapped = 700_000

func TestProcessLimitHoldsExactly(t *testing.T) {
	needRoot(t)
	g, v := mustCreate(t, Limits{Pids: 8}, mapped)
	if !v.Pids.Enforced() {
		t.Skip("pids is not enforced here: " + v.Pids.Reason)
	}
	r, guest := runTask(t, g, mapped, guestTask{Do: "sleep", Count: 12})
	if r.Started != 8 || !strings.Contains(r.StartErr, unix.EAGAIN.Error()) {
		t.Errorf("%d commands started, then %q; want 8, then EAGAIN", r.Started, r.StartErr)
	}
	if !alive(guest.Process.Pid) {
		t.Error("the guest is dead")
	}
}

func TestMemoryHogIsKilledAndTheGuestIsNot(t *testing.T) {
	needRoot(t)
	g, v := mustCreate(t, Limits{MemoryBytes: 64 << 20}, mapped)
	if !v.Memory.Enforced() {
		t.Skip("memory is not enforced here: " + v.Memory.Reason)
	}
	r, guest := runTask(t, g, mapped, guestTask{Do: "hog"})
	if r.Signal != int(unix.SIGKILL) {
		t.Errorf("the hog ended by signal %d, want SIGKILL", r.Signal)
	}
	if r.OOM[0] != 0 || r.OOM[1] < 1 {
		t.Errorf("out-of-memory kills went from %d to %d, want 0 to 1", r.OOM[0], r.OOM[1])
	}
	if !alive(guest.Process.Pid) {
		t.Error("the guest is dead")
	}
}

func TestCPULimitThrottles(t *testing.T) {
	needRoot(t)
	g, v := mustCreate(t, Limits{CPUs: 0.1}, mapped)
	if !v.CPU.Enforced() {
		t.Skip("cpu is not enforced here: " + v.CPU.Reason)
	}
	runTask(t, g, mapped, guestTask{Do: "burn"})
	for p := newPause(time.Now().Add(20 * time.Second)); ; {
		for _, place := range g.places {
			stat, _ := readFile(filepath.Join(place.cmd(), "cpu.stat"))
			for line := range strings.Lines(stat) {
				if n, ok := strings.CutPrefix(line, "nr_throttled "); ok && n != "0\n" {
					return
				}
			}
		}
		if !p.wait() {
			t.Fatal("a busy loop was never throttled")
		}
	}
}

func TestEveryoneIsInTheirPlace(t *testing.T) {
	sys := needRoot(t)
	g, v := mustCreate(t, Limits{MemoryBytes: 256 << 20, CPUs: 1, Pids: 50}, mapped)
	r, guest := runTask(t, g, mapped, guestTask{Do: "sleep", Count: 1})
	if r.Started != 1 {
		t.Fatalf("no command started: %s", r.StartErr)
	}
	base := "/hermes/" + g.name
	want, cmd := map[string]string{}, map[string]string{}
	for c, e := range map[string]Enforcement{"memory": v.Memory, "cpu": v.CPU, "pids": v.Pids} {
		if e.By == "v1" {
			want[c], cmd[c] = base, base+"/cmd"
		}
	}
	if sys.v2 != "" {
		want[""], cmd[""] = base, base+"/cmd/exec1"
		if v.Memory.By == "v2" || v.CPU.By == "v2" || v.Pids.By == "v2" {
			want[""] = base + "/guest"
		}
	}
	got := groupsOf(guest.Process.Pid)
	for c := range want {
		if got[c] != want[c] {
			t.Errorf("the guest is in %s:%s, want %s", c, got[c], want[c])
		}
		if r.Groups[c] != cmd[c] {
			t.Errorf("the command is in %s:%s, want %s", c, r.Groups[c], cmd[c])
		}
	}
	own := groupsOf(os.Getpid())
	for c := range want {
		if strings.Contains(own[c], g.name) {
			t.Errorf("this process has moved itself into %s:%s", c, own[c])
		}
	}
	if sys.v2 != "" && v.Pids.By != "v1" && !strings.Contains(r.Denied, "permission denied") {
		t.Errorf("the guest may write cmd/pids.max: %s", r.Denied)
	}
}

func TestACommandsOwnNamespaceShowsNothingOfTheHost(t *testing.T) {
	needRoot(t)
	g, v := mustCreate(t, Limits{MemoryBytes: 256 << 20, CPUs: 1, Pids: 50}, mapped)
	r, _ := runTask(t, g, mapped, guestTask{Do: "namespace"})
	for c, e := range map[string]Enforcement{"memory": v.Memory, "cpu": v.CPU, "pids": v.Pids, "": v.Kill} {
		if e.By == "v2" {
			c = ""
		}
		if e.Enforced() && r.Groups[c] != "/" {
			t.Errorf("the command sees itself in %s:%s, want /", c, r.Groups[c])
		}
	}
}

func TestGuestKillsACommandsWholeGroup(t *testing.T) {
	needV2(t)
	g, v := mustCreate(t, Limits{Pids: 100}, mapped)
	if !v.Kill.Enforced() {
		t.Skip("no group kill here: " + v.Kill.Reason)
	}
	r, guest := runTask(t, g, mapped, guestTask{Do: "killleaf", Count: 5})
	if r.Signal != int(unix.SIGKILL) {
		t.Errorf("the command ended by signal %d, want SIGKILL", r.Signal)
	}
	if members := g.members(); !slices.Equal(members, []int{guest.Process.Pid}) {
		t.Errorf("%v live, want the guest %d only", members, guest.Process.Pid)
	}
}

func TestACommandMayLiveInCmdItself(t *testing.T) {
	needV2(t)
	g, v := mustCreate(t, Limits{Pids: 50}, mapped)
	r, _ := runTask(t, g, mapped, guestTask{Do: "direct"})
	if want := "/hermes/" + g.name + "/cmd"; r.Groups[""] != want || v.Pids.By == "v1" && r.Groups["pids"] != want {
		t.Errorf("the command is in %v, want %s", r.Groups, want)
	}
}

func TestAddGuestMovesARunningProcess(t *testing.T) {
	needRoot(t)
	g, _ := mustCreate(t, Limits{MemoryBytes: 64 << 20, CPUs: 1, Pids: 10}, 0)
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if err := g.AddGuest(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for _, p := range g.places {
		if pids := readPids(filepath.Join(p.guest(), "cgroup.procs")); !slices.Equal(pids, []int{cmd.Process.Pid}) {
			t.Errorf("%s holds %v, want %d", p.guest(), pids, cmd.Process.Pid)
		}
	}
}

func TestStartMovesTheChildWhereItCannotBeBornInPlace(t *testing.T) {
	needV2(t)
	g, _ := mustCreate(t, Limits{}, 0)
	cmd := exec.Command("sleep", "600")
	var fds []int
	err := g.Start(func(fd int) (int, error) {
		if fds = append(fds, fd); fd != -1 {
			return 0, unix.ENOSYS
		}
		err := cmd.Start()
		return cmd.Process.Pid, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if len(fds) != 2 || !slices.Equal(g.members(), []int{cmd.Process.Pid}) {
		t.Errorf("start was called with %v, the group holds %v, want %d", fds, g.members(), cmd.Process.Pid)
	}
}

func TestFreezeStopsCommands(t *testing.T) {
	needV2(t)
	g, _ := mustCreate(t, Limits{}, 0)
	cat := exec.Command("cat")
	in, _ := cat.StdinPipe()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cat.Stdout = writer
	startIn(t, g, cat)
	writer.Close()
	if err := writeFile(filepath.Join(g.places[0].cmd(), "cgroup.procs"), strconv.Itoa(cat.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := g.Freeze(true); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("hello\n"))
	reader.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := reader.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a frozen command answered %d bytes, %v", n, err)
	}
	if err := g.Freeze(false); err != nil {
		t.Fatal(err)
	}
	reader.SetReadDeadline(time.Now().Add(20 * time.Second))
	if line, err := bufio.NewReader(reader).ReadString('\n'); line != "hello\n" {
		t.Errorf("a thawed command answered %q, %v", line, err)
	}
}

func TestConcurrentCreatesOfOneNameHaveOneWinner(t *testing.T) {
	needRoot(t)
	for range 20 {
		name := freshName(t)
		var wg sync.WaitGroup
		groups, errs := make([]*Group, 4), make([]error, 4)
		for i := range groups {
			wg.Go(func() { groups[i], _, errs[i] = Create(name, Limits{Pids: 5, MemoryBytes: 1 << 20}, 0, 0) })
		}
		wg.Wait()
		won := 0
		for i, g := range groups {
			if g != nil {
				won++
				if err := g.Remove(); err != nil {
					t.Error(err)
				}
			} else if !errors.Is(errs[i], fs.ErrExist) {
				t.Errorf("a loser got %v, want ErrExist", errs[i])
			}
		}
		if won != 1 {
			t.Fatalf("%d winners of %v", won, errs)
		}
	}
}

func TestCreateSurvivesTheParentVanishing(t *testing.T) {
	sys := privateBase(t, needV2(t))
	done := make(chan struct{})
	var wg sync.WaitGroup
	// Others whose last sandbox goes, all the time.
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				rmdir(filepath.Join(sys.v2, parentName))
			}
		}
	})
	for range 300 {
		g, _, err := sys.create("x", nil, mapped, mapped)
		if err != nil {
			t.Error(err)
			break
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
	if left := subgroups(sys.v2); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFailedCreateUndoesItsWorkAndNothingElse(t *testing.T) {
	sys := needV2(t)
	name := freshName(t)
	if sys.v1["pids"] == "" {
		t.Skip("needs a second hierarchy")
	}
	foreign := filepath.Join(sys.v1["pids"], parentName, name)
	if err := os.MkdirAll(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err := Create(name, Limits{MemoryBytes: 1 << 20, Pids: 5}, 0, 0)
	if !errors.Is(err, fs.ErrExist) || !strings.HasPrefix(err.Error(), "cannot make cgroup") {
		t.Errorf("got %v, want ErrExist", err)
	}
	g, err := Open(name)
	if err != nil {
		t.Fatalf("the foreign group is gone: %v", err)
	}
	if want := []place{{dir: foreign}}; !slices.Equal(g.places, want) {
		t.Errorf("left: %v, want %v", g.places, want)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}
