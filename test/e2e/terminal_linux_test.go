package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is a terminal with hermes on it.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	before unix.Termios

	mu    sync.Mutex
	shown bytes.Buffer
	ended chan struct{} // when nothing more is shown
}

func (w *world) onScreen(rows, cols uint16, args ...string) *screen {
	w.t.Helper()
	cmd := w.command(args...)
	// The other end stays open here, so that its state can be read at the end.
	master, slave, err := pty.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	w.own(slave.Name())
	pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: cols})
	s := &screen{t: w.t, cmd: cmd, master: master, ended: make(chan struct{})}
	s.before = s.state()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		cmd.Process.Kill()
		slave.Close()
		master.Close()
		<-s.ended
	})
	return s
}

func (s *screen) state() unix.Termios {
	s.t.Helper()
	state, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *state
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.shown.String(), "\r", "")
}

func (s *screen) waitFor(text string) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("shown: %q", s.text())
		}
	}()
	eventually(s.t, "the screen shows "+text, func() bool { return strings.Contains(s.text(), text) })
}

func (s *screen) typeIn(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits for the end and checks that the terminal is as it was.
func (s *screen) exit(want int) {
	s.t.Helper()
	s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != want {
		s.t.Errorf("status %d, want %d; shown: %q", code, want, s.text())
	}
	if s.state() != s.before {
		s.t.Error("the terminal was not restored")
	}
}

func TestACommandOnATerminal(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		s := w.onScreen(33, 77, "sandbox", "exec", "-it", "--", "sh", "-c", "stty size; tty; echo TERM=$TERM; echo to stderr >&2; exit 6")
		s.waitFor("33 77\n/dev/pts/")
		s.waitFor("TERM=xterm\nto stderr\n")
		s.exit(6)
	})
}

func TestTheTerminalsSizeFollows(t *testing.T) {
	w := newWorld(t, nil)
	s := w.onScreen(20, 40, "sandbox", "exec", "-it", "--", "bash", "-c", "trap 'stty size; exit 5' WINCH; stty size; while :; do sleep 0.05; done")
	s.waitFor("20 40\n")
	pty.Setsize(s.master, &pty.Winsize{Rows: 50, Cols: 132})
	s.waitFor("50 132\n")
	s.exit(5)
}

func TestKeysGoToTheCommand(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		s := w.onScreen(24, 80, "sandbox", "exec", "-i", "-t", "--", "bash", "-c",
			"trap 'echo got it; exit 9' INT; echo ready; read line; echo read $line; while :; do sleep 0.05; done")
		s.waitFor("ready\n")
		s.typeIn("some words\r")
		s.waitFor("read some words\n")
		s.typeIn("\x03")
		s.waitFor("got it\n")
		s.exit(9)
	})
}

func TestTheTerminalIsRestoredAfterSignals(t *testing.T) {
	w := newWorld(t, nil)
	for _, again := range []bool{false, true} {
		s := w.onScreen(24, 80, "sandbox", "exec", "-it", "--", "bash", "-c", "trap '' TERM HUP INT; echo ready; while :; do sleep 0.05; done")
		s.waitFor("ready\n")
		if s.state() == s.before {
			t.Error("the terminal is not raw while the command has it")
		}
		s.cmd.Process.Signal(syscall.SIGTERM)
		if again {
			s.cmd.Process.Signal(syscall.SIGTERM)
		}
		s.exit(130)
	}
}

func TestATerminalWithoutInputCanBeInterrupted(t *testing.T) {
	w := newWorld(t, nil)
	s := w.onScreen(24, 80, "sandbox", "exec", "-t", "--", "bash", "-c", "tty; echo ready; exec sleep 60")
	s.waitFor("ready\n")
	s.typeIn("\x03")
	s.exit(130)
}

func TestAShell(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		s := w.onScreen(24, 80, "sandbox", "shell", "--task", "sh", "--env", "MARK=set", "--cwd", "/tmp")
		s.typeIn("echo $MARK in $PWD; shopt -q login_shell && echo login; echo kept >/workspace/f; exit 3\r")
		s.waitFor("set in /tmp\n")
		s.waitFor("login\n")
		s.exit(3)
		if got := w.must("sandbox", "exec", "--task", "sh", "--", "cat", "f"); got != "kept\n" {
			t.Errorf("got %q", got)
		}
		if r := w.hermes("sandbox", "shell"); r.code != 2 || !oneLine(r.stderr) {
			t.Errorf("without a terminal: %v", r)
		}
	})
}

func TestPruneAllAsksOnATerminal(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--task", "precious", "--", "true")
	for _, c := range []struct {
		key  string
		code int
	}{{"n\r", 1}, {"\r", 1}, {"\x04", 1}, {"\x03", 130}, {"y\r", 0}} {
		s := w.onScreen(24, 80, "sandbox", "prune", "--all")
		s.waitFor("[y/N]")
		s.typeIn(c.key)
		s.exit(c.code)
		if there := strings.Contains(w.must("sandbox", "ls"), "precious"); there != (c.code != 0) {
			t.Errorf("after %q the sandbox is there: %v", c.key, there)
		}
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--", "true")
	if got := w.must("sandbox", "ls"); strings.Contains(got, "\x1b") {
		t.Errorf("colours without a terminal: %q", got)
	}
	show := func() string {
		s := w.onScreen(24, 120, "sandbox", "ls")
		s.waitFor("default")
		s.exit(0)
		return s.text()
	}
	if got := show(); !strings.Contains(got, "\x1b[32mrunning\x1b[0m") {
		t.Errorf("no colours on a terminal: %q", got)
	}
	w.env = append(w.env, "NO_COLOR=1")
	if got := show(); strings.Contains(got, "\x1b") {
		t.Errorf("colours in spite of NO_COLOR: %q", got)
	}
}
