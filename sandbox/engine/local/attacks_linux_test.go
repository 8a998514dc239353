package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	"hermes.example/hermes/sandbox/enginetest/account"
)

// arena is an engine with a home, and the hostile program.
type arena struct {
	t       *testing.T
	engine  sandbox.Engine
	manager *sandbox.Manager
	home    string
	run     string // the run directory
	program string
}

func newArena(t *testing.T) *arena {
	t.Helper()
	a := &arena{t: t, home: openDir(t), run: filepath.Join(openDir(t), "run")}
	if err := os.Mkdir(a.run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", a.run)
	engine, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	a.engine = engine
	a.manager = sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	a.program = filepath.Join(a.home, "attacker")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(a.program, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := a.manager.Prune(context.Background(), a.home, true); err != nil {
			t.Error(err)
		}
		if err := a.manager.Close(); err != nil {
			t.Error(err)
		}
		for _, left := range append(guests(t), commands(t, "-local/")...) {
			t.Errorf("left behind: %s", left)
		}
	})
	return a
}

func (a *arena) id(task string) sandbox.Identity {
	return sandbox.Identity{Home: a.home, Task: task}.Normal()
}

func (a *arena) box(task string) *sandbox.Sandbox {
	a.t.Helper()
	box, err := a.manager.Ensure(a.t.Context(), a.id(task), sandbox.Spec{})
	if err != nil {
		a.t.Fatal(err)
	}
	return box
}

func (a *arena) guest(task string) int {
	a.t.Helper()
	pid, err := a.engine.(*local.Engine).GuestPID(a.id(task))
	if err != nil {
		a.t.Fatal(err)
	}
	return pid
}

func (a *arena) socket(task string) string {
	return filepath.Join(a.run, "hermes", a.id(task).Key()+"-local", "guest.sock")
}

// says runs a line that must succeed and returns what it prints.
func (a *arena) says(box *sandbox.Sandbox, line string) string {
	a.t.Helper()
	var out strings.Builder
	result, err := box.Exec(a.t.Context(), sandbox.Command{Line: line, Stdout: &out, Timeout: time.Minute, Env: map[string]string{attackVariable: "1", "XDG_RUNTIME_DIR": a.run}})
	if err != nil || result.Code != 0 {
		a.t.Fatalf("%q ends with %+v, %v: %s", line, result, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// attacks runs the hostile program inside.
func (a *arena) attacks(box *sandbox.Sandbox, args ...string) string {
	a.t.Helper()
	line := quote(a.program)
	for _, arg := range args {
		line += " " + quote(arg)
	}
	return a.says(box, line)
}

func quote(s string) string { return "'" + s + "'" }

// outside runs the hostile program as one who is in no sandbox.
func (a *arena) outside(args ...string) string {
	a.t.Helper()
	cmd := exec.Command(a.program, args...)
	cmd.Env = append(os.Environ(), attackVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.t.Fatalf("%q outside: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestLocalAttacks lets commands try what the same user may do outside.
func TestLocalAttacks(t *testing.T) {
	t.Run("a command cannot call its guest, nor another's", cannotCall)
	t.Run("a caller that is gone is not let in", deadCaller)
	t.Run("a command cannot pass for a guest", cannotPose)
	t.Run("a command cannot put another guest in the place of its own", cannotMislead)
	t.Run("a command can neither trace, read nor limit the guest", cannotTouch)
	t.Run("a command that removes the socket ends its sandbox's run", socketRemoved)
	t.Run("a command that removes its sandbox's state does so too", stateRemoved)
	t.Run("a command cannot have another process ended in its guest's place", stateForged)
	t.Run("what a killed guest leaves is ended before the next", killedGuest)
	t.Run("what hides ends with its command and its sandbox", hiddenProcesses)
	t.Run("a hermes inside drives nothing outside", hermesInside)
	t.Run("a guest holds nothing of its creator's", inheritedDescriptors)
	t.Run("a limit of processes is set only if it is asked for", processLimit)
	t.Run("nothing of the caller's environment is inside", environmentInside)
}

// TestLocalAttacksAsOrdinaryUser does so as a user without privileges.
func TestLocalAttacksAsOrdinaryUser(t *testing.T) {
	account.New(t, false).Run(t, "TestLocalAttacks")
}

func cannotCall(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.box("other")
	if got := a.outside("call", a.socket("own")); got != "done" {
		t.Fatalf("not shown: outside it says %q", got)
	}
	for _, task := range []string{"own", "other"} {
		for _, way := range []string{"call", "hand-over"} {
			if got := a.attacks(box, way, a.socket(task)); strings.HasSuffix(got, "done") {
				t.Errorf("%s: the guest of %s answers %q", way, task, got)
			}
		}
	}
	// One that has left its parent, its session and its environment.
	out := filepath.Join(a.home, "out")
	a.says(box, "(setsid env -i "+attackVariable+"=1 "+quote(a.program)+" call "+quote(a.socket("own"))+" >"+quote(out)+" 2>&1 &); until [ -s "+quote(out)+" ]; do sleep 0.02; done")
	if got, _ := os.ReadFile(out); strings.Contains(string(got), "done") {
		t.Errorf("an orphan is answered %q", got)
	}
	if got := a.attacks(box, "rise"); got != "EPERM" {
		t.Errorf("a command that raises its limit gets %s", got)
	}
}

// A caller that has ended before the guest could look is not let in: its number may be
// another's by now.
func deadCaller(t *testing.T) {
	a := newArena(t)
	a.box("own")
	guest := a.guest("own")
	if err := syscall.Kill(guest, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(a.program, "hand-over", a.socket("own"))
	cmd.Env = append(os.Environ(), attackVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it has the connection of one who is gone
	if err := syscall.Kill(guest, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first := lines.Text()
	lines.Scan()
	if first != "connected" || lines.Text() == "done" || cmd.Wait() != nil {
		t.Errorf("it says %q, then %q", first, lines.Text())
	}
}

func cannotPose(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.says(box, quote(a.program)+" pose "+quote(a.socket("own"))+" >/dev/null 2>&1 & until [ "+quote(a.socket("own"))+" -nt "+quote(a.program)+" ]; do sleep 0.02; done; sleep 0.2")
	box.Close()
	_, err := a.manager.StatusOf(t.Context(), a.id("own"))
	if err == nil || !strings.Contains(err.Error(), "answers in place of its guest") {
		t.Errorf("the error is %v", err)
	}
	if err := a.manager.Remove(t.Context(), a.id("own"), false); err != nil {
		t.Fatal(err)
	}
	if got := a.says(a.box("own"), "echo well"); got != "well" {
		t.Errorf("afterwards it says %q", got)
	}
}

// A socket of another guest in the place of its own neither lets a command's caller
// into the wrong sandbox nor ends that one.
func cannotMislead(t *testing.T) {
	for name, line := range map[string]string{"link": "ln -sf %s %s", "hard link": "ln -f %s %s", "rename": "mv %s %s"} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t)
			own, other := a.box("own"), a.box("other")
			guest := a.guest("other")
			a.says(own, fmt.Sprintf(line, quote(a.socket("other")), quote(a.socket("own"))))
			own.Close()
			if _, err := a.manager.StatusOf(t.Context(), a.id("own")); err == nil || !strings.Contains(err.Error(), "answers in place of its guest") {
				t.Errorf("the error is %v", err)
			}
			if err := a.manager.Remove(t.Context(), a.id("own"), true); err != nil {
				t.Error(err)
			}
			if a.guest("other") != guest {
				t.Error("the other sandbox has ended")
			}
			other.Close()
		})
	}
}

func cannotTouch(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	guest := strconv.Itoa(a.guest("own"))
	for _, way := range []string{"trace", "read memory", "take descriptor", "limit"} {
		if got := a.attacks(box, way, guest); got != "EPERM" {
			t.Errorf("%s of the guest: %s", way, got)
		}
	}
	// The control: tracing as such works, inside on one of its own, outside too.
	if got := a.says(box, "exec 2>/dev/null; sleep 60 & "+quote(a.program)+" trace $!; kill -9 $!; true"); got != "done" {
		t.Errorf("not shown: tracing a sibling gives %s", got)
	}
	posture, err := box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range posture.Facts {
		if f.Name == sandbox.FactIsolation && f.Value == "none" {
			t.Skipf("signals and outside processes are not protected here, and the posture says so: %s", f.Deviation)
		}
	}
	bystander := exec.Command("sleep", "300")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	outsider := strconv.Itoa(bystander.Process.Pid)
	for _, way := range []string{"trace", "read memory"} {
		if got := a.attacks(box, way, outsider); got != "EPERM" {
			t.Errorf("%s of a process outside: %s", way, got)
		}
	}
	if got := a.says(box, "kill "+outsider+" 2>/dev/null || echo no"); got != "no" {
		t.Errorf("a process outside can be signalled: %q", got)
	}
}

func socketRemoved(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.says(box, "sleep 1000 >/dev/null 2>&1 & rm "+quote(a.socket("own")))
	box.Close()
	if got := a.says(a.box("own"), "echo well"); got != "well" {
		t.Errorf("the next one says %q", got)
	}
	if left := guests(t); len(left) != 1 {
		t.Errorf("there are %d guests: %q", len(left), left)
	}
}

func stateRemoved(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	a.says(box, "sleep 1000 >/dev/null 2>&1 & rm "+quote(filepath.Join(own(a.id("own"), sandbox.Spec{}), "state.json")))
	box.Close()
	if got := a.says(a.box("own"), "echo well"); got != "well" {
		t.Errorf("the next one says %q", got)
	}
	if left := guests(t); len(left) != 1 {
		t.Errorf("there are %d guests: %q", len(left), left)
	}
}

// A command that writes another process into its sandbox's state does not get it ended.
func stateForged(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	bystander := exec.Command("sleep", "300")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bystander.Wait() }()
	defer bystander.Process.Kill()
	state := filepath.Join(own(a.id("own"), sandbox.Spec{}), "state.json")
	if got := a.attacks(box, "forge", state, strconv.Itoa(bystander.Process.Pid)); got != "done" {
		t.Fatal(got)
	}
	box.Close()
	if err := a.manager.Remove(t.Context(), a.id("own"), false); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the bystander was ended: %v", err)
	default:
	}
	if left := guests(t); len(left) > 0 {
		t.Errorf("the guest is left: %q", left)
	}
}

func killedGuest(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	guest := a.guest("own")
	a.says(box, fmt.Sprintf("setsid sleep 1000 >/dev/null 2>&1 & sh -c 'env -i sleep %d & wait' >/dev/null 2>&1 & (sleep 1002 >/dev/null 2>&1 &)", unused(4)))
	name := a.id("own").Key() + "-local"
	if left := commands(t, name); len(left) < 3 {
		t.Fatalf("not shown: %q runs", left)
	}
	box.Close()
	if err := syscall.Kill(guest, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := commands(t, name); len(left) < 3 {
		t.Errorf("not shown: after the guest's death %q runs", left)
	}
	a.box("own")
	if left := commands(t, name); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
	if left := sleepers(t, unused(4)); len(left) > 0 {
		t.Errorf("what has no environment but its parent is still there: %d", left)
	}
}

// unused are times that nobody else sleeps for.
func unused(n int) int { return os.Getpid()*1000 + n }

// sleepers lists the processes that sleep for so long.
func sleepers(t *testing.T, seconds int) (pids []int) {
	t.Helper()
	for _, name := range processes(t) {
		line, _ := os.ReadFile("/proc/" + name + "/cmdline")
		if string(line) == fmt.Sprintf("sleep\x00%d\x00", seconds) {
			pid, _ := strconv.Atoi(name)
			pids = append(pids, pid)
		}
	}
	return pids
}

func hermesInside(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	if got := a.attacks(box, "status", a.home, "own"); !strings.Contains(got, "itself a command of a sandbox") {
		t.Errorf("a hermes inside is told %q", got)
	}
	if got := a.outside("status", a.home, "own"); got != "done" {
		t.Errorf("not shown: outside it is told %q", got)
	}
	// It has sandboxes of its own, from one command to the next.
	first := a.attacks(box, "use", a.home, "inner")
	if second := a.attacks(box, "use", a.home, "inner"); first != second || !strings.HasSuffix(first, "\ndone") {
		t.Errorf("the first command is told %q, the second %q", first, second)
	}
	if got := a.outside("use", a.home, "inner"); !strings.Contains(got, "answers in place of its guest") {
		t.Errorf("outside a command's guest is taken for ours: %q", got)
	}
}

// A guest holds nothing that its creator inherited: who waits for the end of a pipe
// would wait as long as the sandbox lives.
func inheritedDescriptors(t *testing.T) {
	a := newArena(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(a.program, "use", a.home, "own")
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), attackVariable+"=1"), []*os.File{nil, w} // as 4: the guest has its own 3
	out, err := cmd.CombinedOutput()
	w.Close()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Fatalf("%v: %s", err, out)
	}
	r.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("somebody still holds the pipe: %v", err)
	}
	a.guest("own") // and it lives
}

// A limit of processes is set only where it was asked for, since it counts all that the
// user runs.
func processLimit(t *testing.T) {
	a := newArena(t)
	if got := a.says(a.box("default"), "ulimit -Hu"); got == "1024" {
		t.Error("the default limit of a sandbox is set for all processes of the user")
	}
	box, err := a.manager.Ensure(t.Context(), a.id("asked"), sandbox.Spec{Limits: sandbox.Limits{Pids: 7777}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.says(box, "ulimit -Hu"); got != "7777" {
		t.Errorf("the limit is %s", got)
	}
}

// What a spec asks for in vain is refused, by what would do it.
func TestLocalRefusals(t *testing.T) {
	a := newArena(t)
	for want, spec := range map[string]sandbox.Spec{
		"has no image":           {Image: "some/image", Network: sandbox.NetworkHost},
		"has no mounts":          {Mounts: []sandbox.Mount{{Source: "/usr", Target: "/mnt"}}, Network: sandbox.NetworkHost},
		"this machine's network": {Network: sandbox.NetworkNone},
	} {
		_, err := a.engine.Create(t.Context(), a.id("refused"), spec)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "native engine") {
			t.Errorf("the error is %v, not about %q", err, want)
		}
	}
}

func environmentInside(t *testing.T) {
	t.Setenv("HERMES_LOCAL_TEST_SECRET", "s3cr3t")
	a := newArena(t)
	box := a.box("own")
	if got := a.says(box, "env | grep -c s3cr3t || true"); got != "0" {
		t.Errorf("the caller's variable is in a command's environment")
	}
	guest := a.guest("own")
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(guest) + "/environ")
	switch {
	case strings.Contains(string(environ), "s3cr3t"):
		t.Error("the caller's variable is in the guest's environment")
	case os.Getuid() != 0 && !errors.Is(err, os.ErrPermission):
		t.Errorf("the guest's memory is open to its user: %v", err)
	}
}

// However a sandbox ends, what has left its parent, session and environment ends too.
func hiddenProcesses(t *testing.T) {
	a := newArena(t)
	hide := func(box *sandbox.Sandbox, seconds int) {
		a.says(box, fmt.Sprintf("(setsid env -i sleep %d >/dev/null 2>&1 &); until pgrep -x -f 'sleep %[1]d'; do sleep 0.02; done", seconds))
	}
	gone := func(how string, seconds int) {
		t.Helper()
		for bound := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
			left := sleepers(t, seconds)
			if len(left) == 0 {
				return
			}
			if time.Now().After(bound) {
				t.Errorf("it outlives %s", how)
				for _, pid := range left {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				return
			}
		}
	}
	box := a.box("removed")
	hide(box, unused(1))
	if err := a.manager.Remove(t.Context(), a.id("removed"), false); err != nil {
		t.Fatal(err)
	}
	gone("a removal", unused(1))

	box, err := a.manager.Ensure(t.Context(), a.id("ephemeral"), sandbox.Spec{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	hide(box, unused(2))
	box.Close()
	gone("an ephemeral sandbox", unused(2))

	box = a.box("interrupted")
	hidden := fmt.Sprintf("(setsid env -i sleep %d >/dev/null 2>&1 &); sleep 300", unused(3))
	if result, err := box.Exec(t.Context(), sandbox.Command{Line: hidden, Timeout: time.Second, Grace: time.Millisecond}); err != nil || result.Reason != sandbox.TimedOut {
		t.Errorf("it ends with %+v, %v", result, err)
	}
	gone("its command", unused(3))
}
