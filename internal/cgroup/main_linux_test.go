package cgroup

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the guest, its commands, and an ordinary user's engine.
const helperEnv = "HERMES_CGROUP_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "guest":
		runGuest()
	case "hog":
		hog()
	case "burn":
		for n := uint64(0); ; n++ {
			runtime.KeepAlive(n)
		}
	case "thread":
		threadInside()
	case "user":
		runUser()
	}
	os.Exit(0)
}

// helper is this binary in another role. /proc/self/exe, because another uid may
// not walk to the directory that the go command builds in.
func helper(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func needRoot(t testing.TB) system {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make cgroups at the root of a hierarchy")
	}
	sys, err := detect()
	if err != nil {
		t.Fatal(err)
	}
	if sys.v2 == "" && len(sys.v1) == 0 {
		t.Skip("no cgroup hierarchy is mounted")
	}
	if sys.v2 != "" && writable(sys.v2) != nil {
		t.Skip("the cgroup hierarchies are read-only")
	}
	return sys
}

func needV2(t *testing.T) system {
	t.Helper()
	sys := needRoot(t)
	if sys.v2 == "" {
		t.Skip("no cgroup v2 hierarchy is mounted")
	}
	return sys
}

// freshName also checks at the end that no group of that name is left anywhere, and
// no empty parent that was not there before.
func freshName(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(rand.Text()[:8]))
	before := parents(t)
	t.Cleanup(func() {
		for _, dir := range parents(t) {
			left := subgroups(dir)
			if slices.Contains(left, filepath.Join(dir, name)) {
				t.Errorf("%s is left in %s", name, dir)
			}
			if len(left) == 0 && !slices.Contains(before, dir) {
				t.Errorf("the empty parent %s is left", dir)
			}
		}
	})
	return name
}

func parents(t testing.TB) (dirs []string) {
	t.Helper()
	sys, err := detect()
	if err != nil {
		t.Fatal(err)
	}
	v1, v2 := sys.searchDirs()
	for _, base := range append(v1, v2...) {
		if dir := filepath.Join(base, parentName); exists(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// mustCreate makes a group that is killed and removed at the end of the test.
func mustCreate(t testing.TB, l Limits, uid int) (*Group, Verdict) {
	t.Helper()
	g, v, err := Create(freshName(t), l, uid, uid)
	if err != nil {
		t.Fatal(err)
	}
	endLater(t, g)
	return g, v
}

func endLater(t testing.TB, g *Group) {
	t.Cleanup(func() {
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
}

// startIn starts cmd as the group's guest and reaps it at the end.
func startIn(t testing.TB, g *Group, cmd *exec.Cmd) {
	t.Helper()
	if err := startWith(g, cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

func startWith(g *Group, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return g.Start(func(fd int) (int, error) {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = fd != -1, fd
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
}

// groupsOf returns the own paths of a process, "" for v2 and else by controller.
func groupsOf(pid int) map[string]string {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return parseGroups(string(content))
}

func parseGroups(content string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(content) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 {
			for _, c := range strings.Split(parts[1], ",") {
				groups[c] = parts[2]
			}
		}
	}
	return groups
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// guestTask is what the guest is told on its standard input.
type guestTask struct {
	Do          string
	V1, V2, OOM int // descriptors: number of V1Tasks from 3 on; the others, 0 if none
	Count       int
}

// guestReport is what it answers.
type guestReport struct {
	Err      string
	Started  int
	StartErr string
	Groups   map[string]string // of the last command started
	Own      map[string]string
	Signal   int
	OOM      [2]int64 // before and after
	Denied   string
}

// runTask starts a guest in g, in a user namespace when uid is not 0, and lets it
// do one thing. The guest waits afterwards until its input ends.
func runTask(t *testing.T, g *Group, uid int, task guestTask) (guestReport, *exec.Cmd) {
	t.Helper()
	h, err := g.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cmd := helper("guest")
	task.V1 = len(h.V1Tasks)
	cmd.ExtraFiles = append(cmd.ExtraFiles, h.V1Tasks...)
	if h.V2Cmd != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, h.V2Cmd)
		task.V2 = 2 + len(cmd.ExtraFiles)
	}
	if h.OOMEvents != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, h.OOMEvents)
		task.OOM = 2 + len(cmd.ExtraFiles)
	}
	if uid != 0 {
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1000}}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
			Credential: &syscall.Credential{}, // root inside
		}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startIn(t, g, cmd)
	t.Cleanup(func() { stdin.Close() })
	if err := json.NewEncoder(stdin).Encode(task); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer hang.Stop()
	var report guestReport
	if err := json.NewDecoder(stdout).Decode(&report); err != nil {
		t.Fatalf("the guest died: %v", err)
	}
	if report.Err != "" {
		t.Fatalf("guest: %s", report.Err)
	}
	return report, cmd
}
