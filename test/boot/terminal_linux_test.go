package boot

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"hermes.example/hermes/test/machine"
)

// led makes PID 1 the leader of a session that has the terminal, as a container runtime does.
var led = []string{"/usr/bin/setsid", "-c"}

// screen is a person at a machine's terminal.
type screen struct {
	t        *testing.T
	keyboard *os.File
	*machine.Running

	mu   sync.Mutex
	text strings.Builder
}

func sit(t *testing.T, under []string, argv ...string) *screen {
	t.Helper()
	needs(t, under)
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if err := pty.Setsize(keyboard, &pty.Winsize{Rows: 40, Cols: 123}); err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, keyboard: closable(t, keyboard)}
	t.Cleanup(func() { s.keyboard.Close() })
	s.Running = image(t).Start(machine.Boot{
		Stdin: tty, Stdout: tty, Stderr: tty, Terminal: true, Env: []string{"TERM=xterm"}, Under: append(led[:2:2], under...), Argv: append([]string{"/init"}, argv...),
	})
	go s.read()
	return s
}

// closable is the same end of a terminal, but one that really is closed when it is: the library's is kept open by
// who reads from it.
func closable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "keyboard")
}

func (s *screen) read() {
	piece := make([]byte, 4096)
	for {
		n, err := s.keyboard.Read(piece)
		s.mu.Lock()
		s.text.Write(piece[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

func (s *screen) sees(text string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.shown(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%q is not shown: %q", text, s.shown())
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// inits are those that may be above us; every one of them has to give the terminal on.
var inits = map[string][]string{"PID 1": nil, "under another init": above}

func TestTheTerminalIsTheMainPrograms(t *testing.T) {
	for what, under := range inits {
		t.Run(what, func(t *testing.T) {
			s := sit(t, under, "sh", "-c", "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; tput cols; id -u >/dev/tty; exit 3")
			if code := s.Wait(bound); code != 3 {
				t.Errorf("it ended with %d", code)
			}
			s.sees("terminal\n123\n10000\n")
		})
	}
}

func TestKeysReachTheMainProgram(t *testing.T) {
	for what, under := range inits {
		t.Run(what, func(t *testing.T) {
			// The pause can strike in the middle of a line: bash hands out what it has read so far.
			s := sit(t, under, "bash", "-c", "for s in INT QUIT WINCH; do trap \"echo got $s\" $s; done; echo up; while :; do if read -t 0.05 x; then echo read $part$x; part=; else part=$part$x; fi; done")
			s.sees("up\n")
			// Two of the same signal may become one on their way: who is in the foreground is looked at, too.
			if out := s.Must("", "ps", "-eo", "stat=,args="); regexp.MustCompile(`(?m)^\S*\+\S* +/init `).MatchString(out) {
				t.Errorf("hermes-init is in the foreground: %s", out)
			}
			s.types("\x03")
			s.sees("got INT\n")
			s.types("\x1c")
			s.sees("got QUIT\n")
			if err := pty.Setsize(s.keyboard, &pty.Winsize{Rows: 50, Cols: 90}); err != nil {
				t.Fatal(err)
			}
			s.sees("got WINCH\n")
			s.types("line\n")
			s.sees("read line\n")
			for _, sig := range []string{"INT", "QUIT", "WINCH"} {
				if n := strings.Count(s.shown(), "got "+sig+"\n"); n != 1 {
					t.Errorf("one SIG%s arrived %d times: %q", sig, n, s.shown())
				}
			}
			s.Signal(syscall.SIGTERM)
			if code := s.Wait(bound); code != 143 {
				t.Errorf("it ended with %d: %q", code, s.shown())
			}
		})
	}
}

var foregroundSleep = regexp.MustCompile(`(?m)^sleep +S\S*\+`)

func TestAShellHasJobControl(t *testing.T) {
	for what, under := range inits {
		t.Run(what, func(t *testing.T) {
			s := sit(t, under, "bash", "--norc", "-i")
			s.types("PS1='$ '; echo a\"\"bove\n")
			s.sees("above\n")
			foreground := func() bool {
				out, _ := s.Exec("", "ps", "-eo", "comm=,stat=")
				return foregroundSleep.MatchString(out)
			}
			s.types("sleep 1000\n")
			s.Eventually("sleep runs in the foreground", foreground)
			s.types("\x1a")
			s.sees("Stopped")
			s.types("bg; jobs\n")
			s.sees("Running")
			s.types("fg\n")
			s.Eventually("sleep runs in the foreground again", foreground)
			s.types("\x03")
			s.types("echo status $?\n")
			s.sees("status 130\n")
			s.types("exit 7\n")
			if code := s.Wait(bound); code != 7 {
				t.Errorf("it ended with %d: %q", code, s.shown())
			}
			if strings.Contains(s.shown(), "job control") {
				t.Errorf("there is no job control: %q", s.shown())
			}
		})
	}
}

// A Ctrl-Z that nobody could undo does nothing, as in a container without an init.
func TestNobodyIsStoppedForEver(t *testing.T) {
	s := sit(t, nil, "sh", "-c", "echo up; read x; echo read $x")
	s.sees("up\n")
	s.types("\x1a")
	s.types("line\n")
	s.sees("read line\n")
	if code := s.Wait(bound); code != 0 {
		t.Errorf("it ended with %d: %q", code, s.shown())
	}
}

func TestAHangupReachesTheMainProgram(t *testing.T) {
	s := sit(t, nil, "bash", "-c", "trap 'exit 9' HUP; echo up; while :; do sleep 0.05; done")
	s.sees("up\n")
	s.keyboard.Close()
	if code := s.Wait(bound); code != 9 {
		t.Errorf("it ended with %d: %q", code, s.shown())
	}
}
