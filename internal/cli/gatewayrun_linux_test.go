package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
)

// asHermes makes this test program hermes itself, so that signals and exit statuses are those of a real process. With
// the name of a file as its value there is a supervisor, which writes there what it is asked to start.
const asHermes = "HERMES_TEST_IS_HERMES"

func init() {
	file := os.Getenv(asHermes)
	os.Unsetenv(asHermes)
	switch file {
	case "":
	case "1":
		os.Exit(Main())
	default:
		a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, services: &recorder{file: file}}
		ctx, _ := a.watchSignals()
		os.Exit(a.run(ctx, os.Args[1:]))
	}
}

// recorder is a supervisor that starts nothing.
type recorder struct {
	control.Operations
	file string
}

func (r *recorder) Start(_ context.Context, service string) error {
	if service == "gateway-unknown" {
		return supervise.ErrNotRegistered
	}
	return os.WriteFile(r.file, []byte(service), 0o600)
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

// Whoever asks twice does not get it faster: somebody is still being served.
func TestAGatewayThatIsAskedTwiceStillDrains(t *testing.T) {
	p := hermes(t, t.TempDir(), nil, "gateway", "run")
	address := p.address()
	slow, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(slow, "GET /health HTTP/1.1\r\n")
	answer, err := http.Get(address + "/health") // who came first was let in first
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.says("draining")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Process.Signal(syscall.SIGINT)
	slow.Close()
	if got := p.ends(); got != 0 {
		t.Errorf("status %d", got)
	}
}

// Under a supervisor the gateway is that one's, and what remains is one heartbeat, which is not this program.
func TestUnderASupervisorAHeartbeatRemains(t *testing.T) {
	for name, test := range map[string]struct {
		path string // where programs are found
		args []string
		want string
		comm string
		ends int
	}{
		"with sleep":    {os.Getenv("PATH"), []string{"gateway", "run"}, "gateway-default", "sleep", -1},
		"a profile's":   {os.Getenv("PATH"), []string{"-p", "coder", "gateway", "run", "--replace"}, "gateway-coder", "sleep", -1},
		"without sleep": {"/nowhere", []string{"gateway", "run"}, "gateway-default", "", 128 + 15},
	} {
		home, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
		p := hermes(t, home, []string{asHermes + "=" + asked, "PATH=" + test.path}, test.args...)
		p.says("s6 supervision", "--no-supervise", "HERMES_GATEWAY_NO_SUPERVISE")
		if got, err := os.ReadFile(asked); err != nil || string(got) != test.want {
			t.Errorf("%s: asked for %q, %v", name, got, err)
		}
		comm := "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/comm"
		for end := time.Now().Add(20 * time.Second); test.comm != ""; {
			if text, _ := os.ReadFile(comm); strings.TrimSpace(string(text)) == test.comm {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s: it is %q", name, text)
			}
			time.Sleep(5 * time.Millisecond)
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		if got := p.ends(); got != test.ends {
			t.Errorf("%s: status %d", name, got)
		}
		if entries, _ := os.ReadDir(home); len(entries) != 0 {
			t.Errorf("%s: a gateway ran here: %v", name, entries)
		}
	}
	p := hermes(t, t.TempDir(), []string{asHermes + "=" + filepath.Join(t.TempDir(), "asked")}, "-p", "unknown", "gateway", "run")
	p.says("hermes: cannot start the gateway: no such gateway 'unknown'")
	if got := p.ends(); got != 1 {
		t.Errorf("an unknown one: status %d", got)
	}
}

// Whoever says so has the gateway here: then nothing is asked of the supervisor, and nothing is written down that the
// next boot would start.
func TestTheGatewayIsServedHereWhenSomebodySaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		env   []string
		args  []string
		state bool
	}{
		"the flag":          {nil, []string{"--no-supervise"}, false},
		"the variable":      {[]string{"HERMES_GATEWAY_NO_SUPERVISE=Yes"}, nil, false},
		"a supervisor, s6":  {[]string{"HERMES_S6_SUPERVISED_CHILD=1"}, []string{"--replace"}, true},
		"a supervisor, own": {[]string{"HERMES_SUPERVISED_CHILD=1"}, []string{"--replace"}, true},
	} {
		home, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
		p := hermes(t, home, append(test.env, asHermes+"="+asked), append([]string{"gateway", "run"}, test.args...)...)
		p.address()
		if _, err := os.Stat(asked); !os.IsNotExist(err) {
			t.Errorf("%s: the supervisor was asked: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(home, "gateway_state.json")); os.IsNotExist(err) == test.state {
			t.Errorf("%s: written down: %v", name, err)
		}
		p.cmd.Process.Kill()
		p.ends()
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
		home := t.TempDir()
		p := hermes(t, home, test.env, "gateway", "run")
		p.says("hermes: cannot", test.says)
		if got := p.ends(); got != test.status {
			t.Errorf("%s: status %d, want %d", name, got, test.status)
		}
		if !strings.Contains(strings.Join(test.env, ""), "HERMES_HOME") && stateOf(t, home)["gateway_state"] != "startup_failed" {
			t.Errorf("%s: written: %v", name, stateOf(t, home))
		}
	}
}

func TestRootIsRefusedUnlessItIsAllowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can try to be root")
	}
	for _, value := range []string{"", "0", "on", "no"} {
		for says, args := range map[string][]string{"cannot run a gateway as root": {"gateway", "run"}, "cannot run the dashboard as root": {"dashboard"}} {
			p := hermes(t, t.TempDir(), []string{"HERMES_ALLOW_ROOT_GATEWAY=" + value}, args...)
			p.says(says)
			if got := p.ends(); got != 78 {
				t.Errorf("%s: %q: status %d", says, value, got)
			}
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
		r.SetReadDeadline(time.Now().Add(30 * time.Second))
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
	port := hermes(t, t.TempDir(), nil, "dashboard", "--port", "http")
	port.says("hermes: cannot use --port \"http\"")
	if got := port.ends(); got != 78 {
		t.Errorf("a bad port: status %d", got)
	}
	refused := hermes(t, t.TempDir(), nil, "dashboard", "--host", "0.0.0.0", "--insecure")
	refused.says("HERMES_DASHBOARD_INSECURE")
	refused.says("hermes: cannot listen on 0.0.0.0 without a login")
	if got := refused.ends(); got != 78 {
		t.Errorf("status %d", got)
	}
}

func TestB96BeyondLoopbackWithOAuth(t *testing.T) {
	p := hermes(t, t.TempDir(), []string{"HERMES_DASHBOARD_HOST=0.0.0.0", "HERMES_DASHBOARD_OAUTH_CLIENT_ID=client"}, "dashboard", "--no-open")
	open, err := p.stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, found := strings.CutPrefix(strings.TrimSpace(open), "http://localhost")
	if !found {
		t.Fatalf("it says %s", open)
	}
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/api/auth/providers": {200, `"name":"nous"`},
		"/api/status":         {200, `"auth_required":true`},
		"/api/sessions":       {401, "log in"},
	} {
		answer, err := http.Get("http://127.0.0.1" + strings.TrimSuffix(port, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != want.status || !strings.Contains(string(body), want.body) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}
