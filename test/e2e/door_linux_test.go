package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// dashboard runs one of the world until the test ends, and returns its host, and a cookie that opens it, with its name.
func (w *world) dashboard() (host, cookie string) {
	w.t.Helper()
	w.env = append(w.env, "HERMES_ALLOW_ROOT_GATEWAY=1")
	cmd := w.command("dashboard", "--port", "0")
	var said bytes.Buffer
	cmd.Stderr = &said
	output, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		io.Copy(io.Discard, output)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the dashboard ended with %v: %s", err, said.String())
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		w.t.Fatalf("the dashboard says nothing: %s", said.String())
	}
	open, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(&http.Request{Method: "GET", URL: open, Header: http.Header{}})
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	for _, c := range answer.Cookies() {
		if c.Name == "hermes_session_at_"+open.Port() {
			return open.Host, c.Name + "=" + c.Value
		}
	}
	w.t.Fatalf("%s does not log in: %d", open, answer.StatusCode)
	return "", ""
}

// knocks is what somebody tries at the door of a dashboard who has no session, in a shell and without any program. It
// prints the first line of each answer, and at last that to a request with the cookie.
func knocks(host, cookie string) string {
	name, port, _ := strings.Cut(host, ":")
	ask := func(method, path, header string) string {
		return fmt.Sprintf("exec 3<>/dev/tcp/%s/%s && printf '%s %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n%s\\r\\n' >&3 && head -n 1 <&3\n", name, port, method, path, host, header)
	}
	var script strings.Builder
	for _, request := range doors {
		script.WriteString(ask(request.method, request.path, ""))
	}
	script.WriteString(ask("GET", "/api/auth/me", "Cookie: "+cookie+"\\r\\n"))
	return script.String()
}

// doors are what is tried, with the status that it is answered with.
var doors = []struct{ method, path, status string }{
	{"GET", "/", "303"}, {"GET", "/services", "303"}, {"GET", "/api/overview", "401"}, {"GET", "/api/events", "401"}, {"GET", "/api/auth/me", "401"},
	{"POST", "/api/services/gateway-default/stop", "401"}, {"GET", "/api/profiles/default/v1/sandboxes", "401"},
	{"PUT", "/api/profiles/default/v1/sandboxes/x", "401"}, {"GET", "/auth/once?token=guess", "401"}, {"POST", "/auth/refresh", "401"}, {"POST", "/auth/logout", "401"},
}

// heard checks what the answers to knocks were: nothing without the session, and with it that the door was really there.
func heard(t *testing.T, said string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) != len(doors)+1 {
		t.Fatalf("%d answers: %q", len(lines), said)
	}
	for i, door := range doors {
		if !strings.HasPrefix(lines[i], "HTTP/1.1 "+door.status+" ") {
			t.Errorf("%s %s: %s", door.method, door.path, lines[i])
		}
	}
	if control := lines[len(doors)]; !strings.HasPrefix(control, "HTTP/1.1 200 ") {
		t.Errorf("with the session: %s", control)
	}
}

// Loopback is everybody's on a machine: another user reaches the port, and gets nothing.
func TestAnotherUserGetsNoDashboard(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	w := newWorld(t, ordinary)
	host, cookie := w.dashboard()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	stranger := exec.CommandContext(ctx, "bash", "-c", knocks(host, cookie))
	stranger.Dir, stranger.Env = "/", []string{"PATH=/usr/bin:/bin"}
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54323, Gid: 54323}}
	said, err := stranger.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	heard(t, string(said))
}

// A sandbox with the network of its host reaches the port too, and gets as little; and it has no way to the socket at
// which whoever runs the dashboard asks for an address that logs in.
func TestASandboxGetsNoDashboard(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		host, cookie := w.dashboard()
		if r := w.hermes("dashboard", "url"); r.code != 0 || !strings.Contains(r.stdout, "token=") {
			t.Errorf("outside: %v", r)
		}
		heard(t, w.must("sandbox", "exec", "--network", "host", "--task", "nosy", "--", "bash", "-c", knocks(host, cookie)))
		r := w.hermes("sandbox", "exec", "--network", "host", "--task", "nosy", "--", "find", "/", "-path", "/proc", "-prune", "-o", "-name", "dashboard-*.sock", "-print")
		if r.stdout != "" {
			t.Errorf("the socket is inside: %v", r)
		}
	})
}
