package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asHermes makes this test program hermes itself, so that signals and exit statuses are those of a real process.
const asHermes = "HERMES_TEST_IS_HERMES"

func init() {
	if os.Getenv(asHermes) != "" {
		os.Unsetenv(asHermes)
		os.Exit(Main())
	}
}

// program is a hermes that runs.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // what it says on standard error
	stdout *bufio.Reader
}

// hermes starts hermes with a home of its own and nothing of our environment but what is given.
func hermes(t *testing.T, home string, env []string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append([]string{asHermes + "=1", "HERMES_HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + t.TempDir(),
		"HERMES_ALLOW_ROOT_GATEWAY=1", "API_SERVER_PORT=0", "HERMES_DASHBOARD_PORT=0"}, env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{t, cmd, make(chan string, 1000), bufio.NewReader(stdout)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return p
}

// says waits for a line that has all of these words.
func (p *program) says(words ...string) string {
	p.t.Helper()
	var heard []string
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				p.t.Fatalf("it ended without %q:\n%s", words, strings.Join(heard, "\n"))
			}
			heard = append(heard, line)
			all := true
			for _, word := range words {
				all = all && strings.Contains(line, word)
			}
			if all {
				return line
			}
		case <-deadline:
			p.t.Fatalf("it does not say %q:\n%s", words, strings.Join(heard, "\n"))
		}
	}
}

// ends waits for its end and returns its status, -1 for a signal.
func (p *program) ends() int {
	p.t.Helper()
	ended := time.AfterFunc(30*time.Second, func() { p.cmd.Process.Kill() })
	defer ended.Stop()
	for range p.lines {
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

var listening = regexp.MustCompile(`address=(\S+)`)

// address waits until a gateway listens.
func (p *program) address() string {
	p.t.Helper()
	return "http://" + listening.FindStringSubmatch(p.says("listening"))[1]
}

func stateOf(t *testing.T, home string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(home, "gateway_state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestAGatewayEndsAsItIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		env    []string
		ask    func(p *program, address string)
		status int
	}{
		"SIGTERM by hand":         {nil, func(p *program, _ string) { p.cmd.Process.Signal(syscall.SIGTERM) }, 0},
		"SIGINT by hand":          {nil, func(p *program, _ string) { p.cmd.Process.Signal(syscall.SIGINT) }, 0},
		"SIGTERM of a supervisor": {[]string{"HERMES_S6_SUPERVISED_CHILD=1"}, func(p *program, _ string) { p.cmd.Process.Signal(syscall.SIGTERM) }, 75},
		"SIGUSR1":                 {nil, func(p *program, _ string) { p.cmd.Process.Signal(syscall.SIGUSR1) }, 75},
		"a request": {nil, func(p *program, address string) {
			r, _ := http.NewRequest("POST", address+"/v1/restart", nil)
			r.Header.Set("Authorization", "Bearer of-the-file-of-variables")
			if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 202 {
				p.t.Errorf("%v, %v", answer, err)
			}
		}, 75},
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, ".env"), []byte("export API_SERVER_KEY='of-the-file-of-variables'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := hermes(t, home, test.env, "gateway", "run")
		address := p.address()
		if answer, err := http.Get(address + "/health"); err != nil || answer.StatusCode != 200 {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		test.ask(p, address)
		if got := p.ends(); got != test.status {
			t.Errorf("%s: status %d, want %d", name, got, test.status)
		}
		if state := stateOf(t, home); state["gateway_state"] != "running" {
			t.Errorf("%s: written: %v", name, state)
		}
	}
}

func TestAGatewayThatCannotRunSaysWhyOnce(t *testing.T) {
	for name, test := range map[string]struct {
		env    []string
		status int
		says   string
	}{
		"no key":      {[]string{"API_SERVER_HOST=0.0.0.0"}, 78, "API_SERVER_KEY"},
		"a short key": {[]string{"API_SERVER_HOST=0.0.0.0", "API_SERVER_KEY=short"}, 78, "API_SERVER_KEY"},
		"no port":     {[]string{"API_SERVER_PORT=http"}, 78, "API_SERVER_PORT"},
		"no address":  {[]string{"API_SERVER_HOST=192.0.2.1", "API_SERVER_KEY=0123456789abcdef"}, 1, "192.0.2.1"},
		"no name":     {[]string{"HERMES_HOME=/nowhere/profiles/Bad Name"}, 78, "name of a profile"},
		"no profile":  {[]string{"HERMES_HOME=/nowhere/profiles/absent"}, 1, "absent"},
	} {
		p := hermes(t, t.TempDir(), test.env, "gateway", "run")
		p.says("hermes: cannot", test.says)
		if got := p.ends(); got != test.status {
			t.Errorf("%s: status %d, want %d", name, got, test.status)
		}
	}
}

func TestRootIsRefusedUnlessItIsAllowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can try to be root")
	}
	for _, value := range []string{"", "0", "on", "no"} {
		p := hermes(t, t.TempDir(), []string{"HERMES_ALLOW_ROOT_GATEWAY=" + value}, "gateway", "run")
		p.says("cannot run a gateway as root")
		if got := p.ends(); got != 78 {
			t.Errorf("%q: status %d", value, got)
		}
	}
}

func TestReadinessIsTold(t *testing.T) {
	for name, args := range map[string][]string{"gateway": {"gateway", "run"}, "dashboard": {"dashboard"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = []string{asHermes + "=1", "HERMES_HOME=" + t.TempDir(), "HERMES_NOTIFY_FD=3", "API_SERVER_PORT=0", "HERMES_DASHBOARD_PORT=0", "HERMES_ALLOW_ROOT_GATEWAY=1"}
		cmd.ExtraFiles = []*os.File{w}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if told, err := io.ReadAll(r); err != nil || string(told) != "\n" {
			t.Errorf("%s: %q, %v", name, told, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		r.Close()
	}
}

func TestTheDashboardEndsAsItIsAsked(t *testing.T) {
	p := hermes(t, t.TempDir(), nil, "dashboard", "--no-open")
	open, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.Get(strings.TrimSpace(open)); err != nil || answer.Header.Get("Set-Cookie") == "" && answer.Request.URL.Path != "/login" {
		t.Errorf("%s: %v, %v", open, answer, err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if got := p.ends(); got != 0 {
		t.Errorf("status %d", got)
	}
	refused := hermes(t, t.TempDir(), nil, "dashboard", "--host", "0.0.0.0", "--insecure")
	refused.says("HERMES_DASHBOARD_INSECURE")
	refused.says("hermes: cannot listen on 0.0.0.0 without a login")
	if got := refused.ends(); got != 78 {
		t.Errorf("status %d", got)
	}
}
