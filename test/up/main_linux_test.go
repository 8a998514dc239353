// Package up tests "hermes up" as people meet it: the real program, with a home of its own for every test, as root and
// as an ordinary user.
package up

import (
	"fmt"
	"io"
	"net"
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
	"hermes.example/hermes/test/machine"
	"hermes.example/hermes/test/program"
)

// bound is how long anything may take before it counts as a hang.
const bound = 60 * time.Second

var (
	binDir   string // where hermes is
	notBuilt string // why it could not be built
	ordinary *account.Account
)

// ringVariable makes this program one that asks at a socket, whatever stands in its way, and prints what it is told.
const ringVariable = "HERMES_TEST_RING"

func TestMain(m *testing.M) {
	if path := os.Getenv(ringVariable); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		io.Copy(os.Stdout, c)
		os.Exit(0)
	}
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
		ordinary = &account.Account{Name: "number", UID: 54323, GID: 54323}
		if made, err := account.Make(true); err == nil {
			ordinary = &made
			defer made.Remove()
		}
	}
	return m.Run()
}

// asEveryone runs a test as whoever we are and, when that is root, as an ordinary user too.
func asEveryone(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("caller", func(t *testing.T) { test(t, newWorld(t, nil)) })
	t.Run("ordinary", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("already run as an ordinary user")
		}
		test(t, newWorld(t, ordinary))
	})
}

// world is a test's own: a machine without a home yet.
type world struct {
	t         *testing.T
	who       *account.Account // nil is whoever runs the tests
	home, run string           // where the home will be, and XDG_RUNTIME_DIR
	gateway   string           // the port that its gateway gets
	env       []string
}

func newWorld(t *testing.T, who *account.Account) *world {
	t.Helper()
	if notBuilt != "" {
		t.Skip(notBuilt)
	}
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	user := filepath.Join(dir, "user")
	w := &world{t: t, who: who, home: filepath.Join(user, ".hermes"), run: filepath.Join(dir, "run"), gateway: program.FreePort(t)}
	for _, d := range []string{dir, user, w.run} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if who != nil {
			if err := os.Chown(d, who.UID, who.GID); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.env = []string{"PATH=" + binDir + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + user, "XDG_RUNTIME_DIR=" + w.run, "LANG=C.UTF-8",
		"API_SERVER_PORT=" + w.gateway, "HERMES_ALLOW_ROOT_GATEWAY=1"}
	// The native engine's files may be another id's, and their directories closed.
	t.Cleanup(func() { w.hermes("sandbox", "prune", "--all", "--yes") })
	return w
}

// command prepares a call of hermes.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binDir, "hermes"), args...)
	cmd.Env, cmd.Dir = w.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if w.who != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(w.who.UID), Gid: uint32(w.who.GID)}
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// hermes calls the program and returns what it said and its status.
func (w *world) hermes(args ...string) (output string, code int) {
	w.t.Helper()
	cmd := w.command(args...)
	timer := time.AfterFunc(bound, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		w.t.Fatalf("hermes %q: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is a call that has to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, code := w.hermes(args...)
	if code != 0 {
		w.t.Fatalf("hermes %q: %d: %s", args, code, out)
	}
	return out
}

// process is a "hermes up" that runs.
type process struct {
	w           *world
	cmd         *exec.Cmd
	stdout, err machine.Buffer
	ended       chan struct{}
}

// up starts one. The dashboard gets a port that is free.
func (w *world) up(args ...string) *process {
	w.t.Helper()
	return w.start(append([]string{"up", "--port", "0"}, args...)...)
}

func (w *world) start(args ...string) *process {
	w.t.Helper()
	return w.begin(w.command(args...))
}

// begin starts what leads to one.
func (w *world) begin(cmd *exec.Cmd) *process {
	w.t.Helper()
	p := &process{w: w, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.err
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.cmd.Wait(); close(p.ended) }()
	w.t.Cleanup(func() { p.signal(syscall.SIGTERM); p.status() })
	return p
}

// there waits until it has printed where to look, and returns that.
func (p *process) there() string {
	p.w.t.Helper()
	eventually(p.w.t, "it prints where to look", func() bool { return strings.Contains(p.stdout.String(), "Ctrl-C stops") || p.hasEnded() })
	if p.hasEnded() {
		p.w.t.Fatalf("it has ended: %s%s", p.stdout.String(), p.err.String())
	}
	return p.stdout.String()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) signal(sig syscall.Signal) {
	if !p.hasEnded() {
		p.cmd.Process.Signal(sig)
	}
}

// status waits for its end.
func (p *process) status() int {
	p.w.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(bound):
		p.cmd.Process.Kill()
		p.w.t.Fatalf("it does not end: %s", p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// leftovers are the processes of the world: those that have its directory of sockets in their environment.
func (w *world) leftovers() []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if slices.Contains(strings.Split(string(environ), "\x00"), "XDG_RUNTIME_DIR="+w.run) {
			found = append(found, pid)
		}
	}
	return found
}

// clean fails the test if processes or sockets are left.
func (w *world) clean() {
	w.t.Helper()
	if left := w.leftovers(); len(left) > 0 {
		w.t.Errorf("left are the processes %v", left)
	}
	filepath.WalkDir(w.run, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type() == os.ModeSocket {
			w.t.Errorf("left is the socket %s", path)
		}
		return nil
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("in vain waited for: %s", what)
}
