package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Who may log in, where a test wants a login. The name is in no word of a page.
const (
	userName = "margaret"
	password = "correct horse battery staple"
)

// withLogin are the variables of a dashboard that asks for a name and a password.
var withLogin = []string{"HERMES_DASHBOARD_BASIC_AUTH_USERNAME=" + userName, "HERMES_DASHBOARD_BASIC_AUTH_PASSWORD=" + password}

// house is a whole home that runs, with what `hermes up` starts. Its life: newHouse starts it and knows its address,
// the end of the test removes its sandboxes and ends it as Ctrl-C does.
type house struct {
	t         *testing.T
	home, run string
	env       []string
	url       string // of the dashboard, without a path
	asks      bool   // for a name and a password
	cmd       *exec.Cmd
	said      output
}

// output is what a process says, while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newHouse starts a home with variables of the test's own.
func newHouse(t *testing.T, env ...string) *house {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	return newHouseIn(t, dir, env...)
}

// newHouseIn is newHouse in a directory.
func newHouseIn(t *testing.T, dir string, env ...string) *house {
	t.Helper()
	h := &house{t: t, home: filepath.Join(dir, "home"), run: filepath.Join(dir, "run")}
	for _, d := range []string{dir, h.home, h.run, filepath.Join(dir, "user")} {
		h.mkdir(d)
	}
	h.env = append([]string{"PATH=" + binDir + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + filepath.Join(dir, "user"), "HERMES_HOME=" + h.home,
		"XDG_RUNTIME_DIR=" + h.run, "TERM=xterm", "LANG=C.UTF-8", "API_SERVER_PORT=0", "HERMES_DASHBOARD_PORT=0", "TERMINAL_ENV=native", "HERMES_ALLOW_ROOT_GATEWAY=1"}, env...)
	h.start()
	t.Cleanup(h.leave)
	return h
}

func (h *house) mkdir(dir string) {
	h.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if ordinary != nil {
		if err := os.Chown(dir, ordinary.UID, ordinary.GID); err != nil {
			h.t.Fatal(err)
		}
	}
}

// command is a call of hermes by whoever lives here.
func (h *house) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "hermes"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = filepath.Dir(h.home), h.env, &syscall.SysProcAttr{}, 10*time.Second
	if ordinary != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(ordinary.UID), Gid: uint32(ordinary.GID)}
	}
	return cmd
}

// start runs `hermes up` until it says where to look.
func (h *house) start() {
	h.t.Helper()
	h.cmd = h.command(context.Background(), "up", "--json")
	said, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	h.cmd.Stderr = &h.said
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	stuck := time.AfterFunc(bound, func() { h.cmd.Process.Kill() })
	defer stuck.Stop()
	var found struct{ Dashboard struct{ URL, Problem string } }
	if err := json.NewDecoder(said).Decode(&found); err != nil || found.Dashboard.URL == "" {
		h.leave()
		h.t.Fatalf("it does not say where to look: %v, %+v: %s", err, found, &h.said)
	}
	open, err := url.Parse(found.Dashboard.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	h.url, h.asks = "http://"+open.Host, open.RawQuery == ""
}

func (h *house) leave() {
	h.hermes("sandbox", "prune", "--all", "--yes")
	h.cmd.Process.Signal(os.Interrupt)
	stuck := time.AfterFunc(bound, func() { h.cmd.Process.Kill() })
	if err := h.cmd.Wait(); !stuck.Stop() {
		h.t.Errorf("Ctrl-C does not end it: %v", err)
	}
	if h.t.Failed() {
		h.t.Logf("the house said: %s", &h.said)
	}
}

// hermes calls the program and returns what it printed; it has to succeed.
func (h *house) hermes(args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	cmd := h.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Errorf("hermes %s: %v: %s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// service is what the supervisor knows of one.
type service struct {
	Name, State string
	PID         int
}

func (h *house) service(name string) service {
	h.t.Helper()
	var s service
	if out := h.hermes("service", "status", "--json", name); json.Unmarshal([]byte(out), &s) != nil {
		h.t.Fatalf("the status of %s is %s", name, out)
	}
	return s
}

// visit is somebody who has come in, at a path.
func (h *house) visit(path string) *tab {
	h.t.Helper()
	p := newTab(h.t)
	if h.asks {
		p.open(h.url + path)
		p.arrives("/login")
		p.login(password)
		p.arrives(strings.Split(path, "?")[0])
		return p
	}
	p.open(strings.TrimSpace(h.hermes("dashboard", "url")))
	p.arrives("/")
	if path != "/" {
		p.open(h.url + path)
	}
	return p
}

// login fills in the form.
func (p *tab) login(password string) {
	p.t.Helper()
	p.fill("textbox", "Name", userName)
	p.fill("textbox", "Password", password)
	p.click("button", "Log in")
}
