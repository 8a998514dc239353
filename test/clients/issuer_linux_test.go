package clients

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// issuer starts an issuer that is not ours, for as long as the test lasts, and returns its address.
func (w *world) issuer() string {
	w.t.Helper()
	return w.firstLine("node", script(w.t, "issuer.mjs", clients(w.t)))
}

// dashboard serves the dashboard in the same way.
func (w *world) dashboard(env ...string) string {
	w.t.Helper()
	w.env = append(w.env, env...)
	return w.firstLine("hermes", "dashboard", "--port", "0")
}

// firstLine starts a program and returns the first line that it prints. The program ends with its input, or is told to.
func (w *world) firstLine(name string, args ...string) string {
	w.t.Helper()
	cmd := w.command(name, args...)
	var log lockedBuffer
	cmd.Stderr = &log
	input, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		input.Close()
		cmd.Process.Signal(os.Interrupt)
		io.Copy(io.Discard, output)
		cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("%s:\n%s", name, log.String())
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		w.t.Fatalf("%s says nothing: %v\n%s", name, err, log.String())
	}
	return strings.TrimSpace(line)
}

// browser goes from page to page as a person does who has this name at the issuer.
type browser struct {
	t      *testing.T
	client *http.Client
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

// page is what came of a request after all redirects.
type page struct {
	*http.Response
	text string
}

func (b *browser) do(r *http.Request, err error) page {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{answer, string(text)}
}

func (b *browser) get(address string) page {
	b.t.Helper()
	return b.do(http.NewRequest("GET", address, nil))
}

func (b *browser) send(address string, fields url.Values) page {
	b.t.Helper()
	r, err := http.NewRequest("POST", address, strings.NewReader(fields.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.do(r, err)
}

// form is where the form of a page at the issuer goes to.
func (b *browser) form(p page) string {
	b.t.Helper()
	found := regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(p.text)
	if found == nil {
		b.t.Fatalf("%s has no form: %d %s", p.Request.URL, p.StatusCode, p.text)
	}
	to, err := p.Request.URL.Parse(found[1])
	if err != nil {
		b.t.Fatal(err)
	}
	return to.String()
}

// logIn goes by the issuer, and returns where that leads.
func (b *browser) logIn(dashboard, name string) page {
	b.t.Helper()
	asked := b.get(dashboard + "/auth/login?provider=oidc&next=/addons")
	asked = b.send(b.form(asked), url.Values{"prompt": {"login"}, "login": {name}, "password": {"any"}})
	return b.send(b.form(asked), url.Values{"prompt": {"consent"}})
}

// me is who the dashboard takes the browser for; nobody without a session.
func (b *browser) me(dashboard string) string {
	b.t.Helper()
	var me struct{ User string }
	if p := b.get(dashboard + "/api/auth/me"); p.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(p.text), &me); err != nil {
			b.t.Fatal(err)
		}
	}
	return me.User
}

func TestLoggingInByAnIssuerThatIsNotOurs(t *testing.T) {
	w := newWorld(t)
	address := w.issuer()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of-the-client\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dashboard := strings.TrimSuffix(w.dashboard("HERMES_DASHBOARD_OIDC_ISSUER="+address, "HERMES_DASHBOARD_OIDC_CLIENT_ID=hermes", "HERMES_DASHBOARD_OIDC_CLIENT_SECRET_FILE="+secret,
		"HERMES_DASHBOARD_OIDC_SCOPES=openid email groups", "HERMES_DASHBOARD_OIDC_ALLOW=alice@home.example, group:admins"), "/")
	for name, user := range map[string]string{"alice": "alice@home.example", "carol": "carol@home.example", "bob": "", "mallory": ""} {
		b := newBrowser(t)
		p := b.logIn(dashboard, name)
		if in := user != ""; in != (p.StatusCode == 200 && strings.Contains(p.text, "url=/addons")) || !in && p.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d at %s: %s", name, p.StatusCode, p.Request.URL, p.text)
		}
		if got := b.me(dashboard); got != user {
			t.Errorf("%s is %q", name, got)
		}
		if again := b.get(p.Request.URL.String()); again.StatusCode != http.StatusBadRequest {
			t.Errorf("%s comes back a second time: %d", name, again.StatusCode)
		}
	}
	b := newBrowser(t)
	given := b.get(dashboard + "/auth/login?provider=oidc")
	if p := b.get(given.Request.URL.String() + "/abort"); p.StatusCode != http.StatusForbidden || !strings.Contains(p.text, "did not let you in") || b.me(dashboard) != "" {
		t.Errorf("given up: %d at %s: %s", p.StatusCode, p.Request.URL, p.text)
	}
}

// A client that can keep no secret has none.
func TestLoggingInByAnIssuerWithoutASecret(t *testing.T) {
	w := newWorld(t)
	dashboard := strings.TrimSuffix(w.dashboard("HERMES_DASHBOARD_OIDC_ISSUER="+w.issuer(), "HERMES_DASHBOARD_OIDC_CLIENT_ID=public", "HERMES_DASHBOARD_OIDC_ALLOW=sub:bob"), "/")
	for name, user := range map[string]string{"bob": "bob", "alice": ""} {
		b := newBrowser(t)
		b.logIn(dashboard, name)
		if got := b.me(dashboard); got != user {
			t.Errorf("%s is %q", name, got)
		}
	}
}
