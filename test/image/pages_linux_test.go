package image

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// visitor is somebody with a browser, at the port that a container publishes.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
	mark   string // what changes need
}

func (v *visitor) ask(method, path, body string) (int, string) {
	v.t.Helper()
	r, err := http.NewRequest(method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Origin", v.base)
	r.Header.Set("Content-Type", "application/json")
	if v.mark != "" {
		r.Header.Set("X-CSRF-Token", v.mark)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// visit logs in.
func visit(t *testing.T, base, login string) *visitor {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	v := &visitor{t: t, base: base, client: &http.Client{Jar: jar}}
	if code, body := v.ask("POST", "/auth/password-login", login); code >= 400 {
		t.Fatalf("the login: %d %s", code, body)
	}
	code, body := v.ask("GET", "/api/auth/me", "")
	var me struct{ CSRF string }
	if err := json.Unmarshal([]byte(body), &me); code != 200 || err != nil || me.CSRF == "" {
		t.Fatalf("who logged in: %d %s", code, body)
	}
	v.mark = me.CSRF
	return v
}

var loaded = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// Through the port that a container publishes: a login, the page with all that it names, the terminal's code among what
// is there, and a command in a sandbox of the container's engine.
func TestTheDashboardOfAContainerHasPagesAndSandboxes(t *testing.T) {
	c := dockerd(t).idle(opts("-p 127.0.0.1::9119 -e HERMES_DASHBOARD=1 -e HERMES_DASHBOARD_HOST=0.0.0.0 " +
		"-e HERMES_DASHBOARD_BASIC_AUTH_USERNAME=me -e HERMES_DASHBOARD_BASIC_AUTH_PASSWORD=password")...)
	c.serves("dashboard")
	base := "http://" + c.must("port", c.name, "9119/tcp")
	v := visit(t, base, `{"username": "me", "password": "password"}`)
	code, page := v.ask("GET", "/", "")
	assets := loaded.FindAllStringSubmatch(page, -1)
	if code != 200 || len(assets) < 3 {
		t.Fatalf("the page: %d %s", code, page)
	}
	for _, a := range append(assets, []string{"", "/assets/xterm/xterm.mjs"}) {
		if code, body := v.ask("GET", a[1], ""); code != 200 || body == "" {
			t.Errorf("%s: %d", a[1], code)
		}
	}
	var overview struct {
		Engine   struct{ Name string }
		Services []struct{ Name, State string }
	}
	code, body := v.ask("GET", "/api/overview", "")
	if err := json.Unmarshal([]byte(body), &overview); code != 200 || err != nil || overview.Engine.Name != "local" || len(overview.Services) < 2 {
		t.Errorf("the overview: %d %s", code, body)
	}
	code, body = v.ask("POST", "/api/profiles/default/v1/sandboxes/try/exec", `{"line": "echo inside $((40 + 2)) as $(id -u)"}`)
	if code != 200 || !strings.Contains(body, "inside 42 as 10000") {
		t.Errorf("a command in a sandbox: %d %s", code, body)
	}
	// What is shown was looked at a moment ago.
	c.eventually("the sandbox is among those that are shown", func() bool {
		code, body := v.ask("GET", "/api/sandboxes", "")
		return code == 200 && strings.Contains(body, `"try"`)
	})
	v.mark = "forged"
	if code, _ := v.ask("POST", "/api/services/dashboard/stop", ""); code != 403 {
		t.Errorf("a change without its mark: %d", code)
	}
	if got := c.status("dashboard"); got.State != "ready" {
		t.Errorf("it is %+v", got)
	}
}

// Without a password the address that logs in is in no log of the container, and who may run commands in it gets one.
func TestTheAddressThatLogsInIsAskedFor(t *testing.T) {
	c := dockerd(t).idle(opts("-e HERMES_DASHBOARD=1")...)
	c.serves("dashboard")
	out := c.do("", "hermes", "dashboard", "url")
	open, err := url.Parse(strings.TrimSpace(out))
	if err != nil || open.Path != "/auth/once" || open.Query().Get("token") == "" {
		t.Fatalf("it says %s", out)
	}
	if logs := c.logs(); strings.Contains(logs, "token=") {
		t.Errorf("the log has an address that logs in: %s", tail(logs))
	}
	if out := c.exec("1234:1234", "hermes", "dashboard", "url"); out.code == 0 {
		t.Errorf("a stranger is given %v", out)
	}
}

// In a container the whole home is kept already: a second supervisor is refused in one line that names the first.
func TestUpInAContainerIsRefused(t *testing.T) {
	c := dockerd(t).idle()
	for _, user := range []string{"", "hermes", "1234:1234"} {
		out := c.exec(user, "hermes", "up")
		said := out.stdout + out.stderr
		if out.code != 78 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "container "+c.must("inspect", "-f", "{{.Id}}", c.name)[:12]) {
			t.Errorf("%q is told %d: %s", user, out.code, said)
		}
	}
}
