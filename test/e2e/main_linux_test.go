// Package e2e tests the hermes program as people and agents meet it: built once,
// started as a child, in a home of its own for every test, as root and as an
// ordinary user.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox/enginetest/account"
	"hermes.example/hermes/test/program"
)

// bound is how long one call of hermes may take before it counts as a hang.
const bound = 60 * time.Second

var (
	binDir   string           // where hermes is
	notBuilt string           // why it could not be built
	ordinary *account.Account // an ordinary user who calls hermes
)

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if notBuilt = program.Missing(); notBuilt != "" {
		return m.Run()
	}
	dir, remove, err := program.Build()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer remove()
	binDir = dir
	if os.Getuid() == 0 {
		var remove func()
		ordinary, remove = makeOrdinary()
		defer remove()
	}
	return m.Run()
}

// makeOrdinary makes an ordinary user for root's tests, with a range of ids if
// this system gives its users one. Where users cannot be made a number serves,
// which has a single id.
func makeOrdinary() (*account.Account, func()) {
	for _, subordinate := range []bool{true, false} {
		if a, err := account.Make(subordinate); err == nil {
			return &a, func() {
				if err := a.Remove(); err != nil {
					fmt.Println(err)
				}
			}
		}
	}
	return &account.Account{Name: "number", UID: 54322, GID: 54322}, func() {}
}

// asEveryone runs a test as whoever we are and, when that is root, as an
// ordinary user too.
func asEveryone(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("caller", func(t *testing.T) { test(t, newWorld(t, nil)) })
	t.Run("ordinary", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("already run as an ordinary user")
		}
		test(t, newWorld(t, ordinary))
	})
}

// world is a test's own: homes, run directory, environment.
type world struct {
	t         *testing.T
	who       *account.Account // nil is whoever runs the tests
	dir       string           // everything below, and the caller's
	home, run string           // HERMES_HOME and XDG_RUNTIME_DIR
	work      string           // the current directory of calls
	env       []string
}

func newWorld(t *testing.T, who *account.Account) *world {
	t.Helper()
	if notBuilt != "" {
		t.Skip(notBuilt)
	}
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	w := &world{t: t, who: who, dir: dir, home: filepath.Join(dir, "home"), run: filepath.Join(dir, "run"), work: filepath.Join(dir, "work")}
	for _, d := range []string{w.home, w.run, w.work, filepath.Join(dir, "user")} {
		w.mkdir(d)
	}
	w.own(dir)
	w.env = []string{"PATH=" + binDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin", "HOME=" + filepath.Join(dir, "user"),
		"HERMES_HOME=" + w.home, "XDG_RUNTIME_DIR=" + w.run, "TERM=xterm", "LANG=C.UTF-8"}
	t.Cleanup(w.leave)
	return w
}

// ofTheProfile are files of the home that are no sandbox's, and that no sandbox's end removes.
var ofTheProfile = []string{"profiles", "config.yaml", ".env", "gateway.lock", "gateway_state.json", "lazy-packages"}

// leave removes all sandboxes of the test and looks for what is left of them.
func (w *world) leave() {
	if r := w.hermes("sandbox", "prune", "--all", "--yes"); r.code != 0 {
		w.t.Errorf("prune --all: %v", r)
	}
	for _, dir := range []string{w.home, w.run} {
		left := slices.DeleteFunc(w.tree(dir), func(name string) bool { return slices.Contains(ofTheProfile, name) })
		if len(left) > 0 {
			w.t.Errorf("prune --all left %q in %s", left, dir)
		}
	}
}

func (w *world) mkdir(dir string) {
	w.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.own(dir)
}

func (w *world) write(path, content string) string {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.work, path)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.own(path)
	return path
}

// own gives a file to the caller.
func (w *world) own(path string) {
	w.t.Helper()
	if w.who != nil {
		if err := os.Chown(path, w.who.UID, w.who.GID); err != nil {
			w.t.Fatal(err)
		}
	}
}

// tree lists what is below dir.
func (w *world) tree(dir string) []string {
	w.t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// result is how a call of hermes ended.
type result struct {
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("status %d\nstdout: %q\nstderr: %q", r.code, r.stdout, r.stderr)
}

// command prepares a call; it is killed when it takes too long.
func (w *world) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "hermes"), args...)
	cmd.Dir, cmd.Env = w.work, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if w.who != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(w.who.UID), Gid: uint32(w.who.GID)}
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// hermes calls the program and waits for its end.
func (w *world) hermes(args ...string) result {
	w.t.Helper()
	return w.finish(w.command(args...))
}

func (w *world) finish(cmd *exec.Cmd) result {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%q: %v", cmd.Args, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is a call that has to succeed; it returns what it printed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	r := w.hermes(args...)
	if r.code != 0 {
		w.t.Fatalf("hermes %q: %v", args, r)
	}
	return r.stdout
}

// processes finds those of this machine whose command line contains a text.
func processes(t *testing.T, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if strings.Contains(string(cmdline), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// running finds the processes of this machine that run a program with a first
// argument.
func running(t *testing.T, program, argument string) []int {
	t.Helper()
	return slices.DeleteFunc(processes(t, argument), func(pid int) bool {
		cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return !strings.HasPrefix(string(cmdline), program+"\x00"+argument+"\x00")
	})
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("in vain waited for: %s", what)
}
