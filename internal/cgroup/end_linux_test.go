package cgroup

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// v1Only is this machine without its v2 hierarchy.
func v1Only(t *testing.T) system {
	sys := needRoot(t)
	if len(sys.v1) == 0 {
		t.Skip("no cgroup v1 hierarchy is mounted")
	}
	sys.v2, sys.own = "", ""
	return sys
}

// createV1 makes a group that has no cgroup.kill to rely on.
func createV1(t *testing.T, l Limits) *Group {
	t.Helper()
	g, v, err := v1Only(t).create(freshName(t), l.wants(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	endLater(t, g)
	if v.Kill.Enforced() || v.Kill.Reason == "" || v.Pids.By != "v1" {
		t.Errorf("verdict %+v", v)
	}
	return g
}

// forks keeps forking until it is killed or has reached the limit.
const forks = "for i in $(seq 200); do sh -c 'sleep 600 & sleep 600' & done; echo busy; wait"

func startForking(t *testing.T, g *Group) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", forks)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startIn(t, g, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "busy\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd
}

func TestKillLeavesNobody(t *testing.T) {
	for name, create := range map[string]func(t *testing.T) *Group{
		"own hierarchies": func(t *testing.T) *Group {
			needRoot(t)
			g, _ := mustCreate(t, Limits{Pids: 1000}, 0)
			return g
		},
		"v1 only": func(t *testing.T) *Group { return createV1(t, Limits{Pids: 1000}) },
	} {
		t.Run(name, func(t *testing.T) {
			g := create(t)
			cmd := startForking(t, g)
			before := g.members()
			if len(before) < 100 {
				t.Fatalf("only %d processes to kill", len(before))
			}
			if err := g.Kill(); err != nil {
				t.Fatal(err)
			}
			if left := g.members(); len(left) != 0 || alive(cmd.Process.Pid) {
				t.Errorf("%v live, guest alive %v", left, alive(cmd.Process.Pid))
			}
			if err := g.Kill(); err != nil {
				t.Errorf("second kill: %v", err)
			}
		})
	}
}

func TestKillSparesAProcessThatHasOnlyAThreadInside(t *testing.T) {
	g := createV1(t, Limits{Pids: 1000})
	var dirs []string
	for _, p := range g.places {
		dirs = append(dirs, p.dir)
	}
	cmd := helper("thread")
	cmd.Env = append(cmd.Env, "HERMES_CGROUP_TEST_DIRS="+strings.Join(dirs, ":"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(unix.SIGTERM); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if listed := readPids(filepath.Join(g.places[0].dir, "cgroup.procs")); !slices.Contains(listed, cmd.Process.Pid) {
		t.Fatalf("cgroup.procs does not name %d: the test shows nothing", cmd.Process.Pid)
	}
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	if !alive(cmd.Process.Pid) {
		t.Error("a bystander was killed")
	}
}

func TestRemoveTakesWhatTheGuestMade(t *testing.T) {
	needV2(t)
	g, _ := mustCreate(t, Limits{}, mapped)
	for _, leaf := range []string{"e1", "e2", "e2/a/b/c"} {
		if err := os.MkdirAll(filepath.Join(g.places[0].cmd(), leaf), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(g.name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open after remove: %v", err)
	}
	if err := g.Remove(); err != nil {
		t.Errorf("second remove: %v", err)
	}
}

func TestRemoveOfABusyGroupIsAnErrorAndKillsNothing(t *testing.T) {
	needRoot(t)
	g, _ := mustCreate(t, Limits{Pids: 10}, 0)
	cmd := exec.Command("sleep", "600")
	startIn(t, g, cmd)
	if err := g.Remove(); !errors.Is(err, unix.EBUSY) || !strings.HasPrefix(err.Error(), "cannot remove cgroup") {
		t.Errorf("got %v, want EBUSY", err)
	}
	if !alive(cmd.Process.Pid) {
		t.Error("the process was killed")
	}
}

func TestOpenFindsWhatACrashLeft(t *testing.T) {
	sys := needRoot(t)
	g, _ := mustCreate(t, Limits{MemoryBytes: 64 << 20, CPUs: 1, Pids: 10}, 0)
	startIn(t, g, exec.Command("sleep", "600"))

	// A removal cut short: one hierarchy is done already.
	half, _ := mustCreate(t, Limits{Pids: 10}, 0)
	if len(half.places) > 1 {
		first := &Group{name: half.name, places: half.places[:1]}
		if err := first.Remove(); err != nil {
			t.Fatal(err)
		}
	}

	names, err := List()
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []*Group{g, half} {
		if !slices.Contains(names, made.name) {
			t.Errorf("%s is not in %v", made.name, names)
		}
		found, err := Open(made.name)
		if err != nil {
			t.Fatal(err)
		}
		if made == g && len(found.places) != len(g.places) {
			t.Errorf("found %v, made %v", found.places, g.places)
		}
		if err := errors.Join(found.Kill(), found.Remove()); err != nil {
			t.Error(err)
		}
		if left := sys.find(made.name); len(left.places) != 0 {
			t.Errorf("left: %v", left.places)
		}
	}
}
