package dashboard

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// cookies is a browser's, of one site.
type cookies struct{ kept []*http.Cookie }

func (c *cookies) SetCookies(_ *url.URL, set []*http.Cookie) { c.kept = append(c.kept, set...) }
func (c *cookies) Cookies(*url.URL) []*http.Cookie           { return c.kept }

func TestLoggingInAndOut(t *testing.T) {
	s := newSite(t, nil)
	for _, wrong := range [][2]string{{"me", "no"}, {"you", "pw"}, {"", ""}} {
		if r := s.login(wrong[0], wrong[1], nil); r.StatusCode != 401 || len(r.Cookies()) != 0 {
			t.Errorf("%v: %d %v", wrong, r.StatusCode, r.Cookies())
		}
	}
	r := s.login("me", "pw", nil)
	if r.StatusCode != 200 {
		t.Fatalf("status %d", r.StatusCode)
	}
	given := r.Cookies()
	paths := map[string]string{accessCookie: "/", refreshCookie: refreshPath}
	for _, c := range given {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != paths[c.Name] || c.MaxAge <= 0 {
			t.Errorf("cookie %+v", c)
		}
	}
	if len(given) != 2 {
		t.Fatalf("cookies %v", given)
	}
	if r := s.ask("GET", "/api/auth/me", withCookies(given)); r.StatusCode != 200 || bodyOf(t, r)["user"] != "me" {
		t.Errorf("me: %d", r.StatusCode)
	}
	if r := s.ask("GET", "/api/sessions", withCookies(given)); r.StatusCode != 404 {
		t.Errorf("what is not there yet: %d", r.StatusCode)
	}
	if body := bodyOf(t, s.ask("GET", "/api/status", withCookies(given))); body["authenticated"] != true || body["version"] == nil {
		t.Errorf("status: %v", body)
	}
	out := s.ask("POST", "/auth/logout", withCookies(given)).Cookies()
	if len(out) != 2 || out[0].MaxAge >= 0 || out[1].MaxAge >= 0 || out[1].Path != refreshPath {
		t.Errorf("logging out: %v", out)
	}
	if strings.Contains(s.log.String(), "pw") {
		t.Error("the log has the password")
	}
}

func TestAFormWorksToo(t *testing.T) {
	s := newSite(t, nil)
	send := func(kind, body string) int {
		return s.ask("POST", passwordPath, func(r *http.Request) {
			r.Header.Set("Content-Type", kind)
			r.Body = io.NopCloser(strings.NewReader(body))
		}).StatusCode
	}
	for _, test := range []struct {
		kind, body string
		want       int
	}{
		{"application/x-www-form-urlencoded", "username=me&password=pw", 200},
		{"application/json; charset=utf-8", `{"username":"me","password":"pw"}`, 200},
		{"application/json", `["me","pw"]`, 400},
		{"application/json", `{"username":"` + strings.Repeat("x", 1<<20) + `"}`, 400},
		{"text/plain", "username=me&password=pw", 415},
		{"", "username=me&password=pw", 415},
	} {
		if got := send(test.kind, test.body); got != test.want {
			t.Errorf("%s %.30s: %d", test.kind, test.body, got)
		}
	}
}

func TestSessionsEndAndAreRenewed(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.Basic.TTL = time.Hour })
	given := s.login("me", "pw", nil).Cookies()
	only := func(name string) []*http.Cookie {
		for _, c := range given {
			if c.Name == name {
				return []*http.Cookie{c}
			}
		}
		t.Fatalf("no cookie %s", name)
		return nil
	}
	status := func(path, method string, with []*http.Cookie) int {
		return s.ask(method, path, withCookies(with)).StatusCode
	}

	swapped := []*http.Cookie{{Name: accessCookie, Value: only(refreshCookie)[0].Value}, {Name: refreshCookie, Value: only(accessCookie)[0].Value}}
	if got := status("/api/auth/me", "GET", swapped); got != 401 {
		t.Errorf("a session for renewal opens the door: %d", got)
	}
	if got := status(refreshPath, "POST", swapped); got != 401 {
		t.Errorf("a session that opens the door renews itself: %d", got)
	}
	s.clock.at = s.clock.at.Add(time.Hour)
	if got := status("/api/auth/me", "GET", given); got != 401 {
		t.Errorf("an old session opens: %d", got)
	}
	renewed := s.ask("POST", refreshPath, withCookies(only(refreshCookie)))
	if renewed.StatusCode != 200 || len(renewed.Cookies()) != 1 {
		t.Fatalf("renewal: %d %v", renewed.StatusCode, renewed.Cookies())
	}
	if got := status("/api/auth/me", "GET", renewed.Cookies()); got != 200 {
		t.Errorf("the new session: %d", got)
	}
	s.clock.at = s.clock.at.Add(30 * 24 * time.Hour)
	if got := status(refreshPath, "POST", given); got != 401 {
		t.Errorf("after a month: %d", got)
	}
	if got := status(refreshPath, "POST", nil); got != 401 {
		t.Errorf("without anything: %d", got)
	}
}

// With a secret sessions outlast the process; without one, and with another password, they do not.
func TestSessionsAfterARestart(t *testing.T) {
	const secret = "a secret that is long enough"
	for name, test := range map[string]struct {
		before, after config.BasicAuth
		want          int
	}{
		"a secret":         {cheap("me", "pw", secret), cheap("me", "pw", secret), 200},
		"none":             {cheap("me", "pw", ""), cheap("me", "pw", ""), 401},
		"another password": {cheap("me", "pw", secret), cheap("me", "new", secret), 401},
	} {
		first := newSite(t, func(d *config.Dashboard) { d.Basic = test.before })
		given := first.login("me", "pw", nil).Cookies()
		second := newSite(t, func(d *config.Dashboard) { d.Basic = test.after })
		if got := second.ask("GET", "/api/auth/me", withCookies(given)).StatusCode; got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestCookiesAreSecureBehindTLS(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	for peer, secure := range map[string]bool{"127.0.0.1:1": true, "192.0.2.1:1": false} {
		r := s.login("me", "pw", func(r *http.Request) {
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-Proto", "https")
		})
		for _, c := range r.Cookies() {
			if c.Secure != secure {
				t.Errorf("%s: %s is secure: %v", peer, c.Name, c.Secure)
			}
		}
		if len(r.Cookies()) != 2 {
			t.Errorf("%s: %d", peer, r.StatusCode)
		}
	}
}

func TestTriesAreLimited(t *testing.T) {
	s := newSite(t, nil)
	try := func(peer, claims string) *http.Response {
		return s.login("me", "wrong", func(r *http.Request) {
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-For", claims)
		})
	}
	for i := range tries {
		if r := try("192.0.2.1:1", ""); r.StatusCode != 401 {
			t.Fatalf("try %d: %d", i, r.StatusCode)
		}
	}
	refused := try("192.0.2.1:2", "198.51.100.7") // a header of its own helps nobody
	if refused.StatusCode != 429 || refused.Header.Get("Retry-After") != "12" {
		t.Errorf("%d, wait %s", refused.StatusCode, refused.Header.Get("Retry-After"))
	}
	if r := s.login("me", "pw", func(r *http.Request) { r.RemoteAddr = "192.0.2.1:3" }); r.StatusCode != 429 {
		t.Errorf("the right password gets past: %d", r.StatusCode)
	}
	if r := try("192.0.2.2:1", ""); r.StatusCode != 401 {
		t.Errorf("another caller: %d", r.StatusCode)
	}
	s.clock.at = s.clock.at.Add(tryEvery)
	if r := s.login("me", "pw", func(r *http.Request) { r.RemoteAddr = "192.0.2.1:3" }); r.StatusCode != 200 {
		t.Errorf("after the wait: %d", r.StatusCode)
	}
	if r := try("192.0.2.1:1", ""); r.StatusCode != 401 {
		t.Errorf("one who got in is not forgiven: %d", r.StatusCode)
	}
}

func TestANetworkHasTheTriesOfOneCaller(t *testing.T) {
	l := newLimiter(newClock().now)
	six := netip.MustParseAddr("2001:db8::1")
	for range tries {
		l.Take(network(six))
		six = six.Next()
	}
	if l.Take(network(six)) == 0 {
		t.Error("every address of a network has tries of its own")
	}
}

func TestTheAddressThatIsPrintedWorksOnce(t *testing.T) {
	s := newSite(t, noLogin)
	open, err := url.Parse(s.d.url(&net.TCPAddr{IP: net.IPv4zero, Port: 9119}))
	if err != nil || open.Path != oncePath || open.Host != "localhost:9119" {
		t.Fatalf("%v, %v", open, err)
	}
	path := open.RequestURI()
	for _, wrong := range []string{oncePath, oncePath + "?token=", path + "x"} {
		if r := s.ask("GET", wrong, nil); r.StatusCode != 401 {
			t.Errorf("%s: %d", wrong, r.StatusCode)
		}
	}
	if r := s.ask("HEAD", path, nil); r.StatusCode != 401 {
		t.Errorf("a look: %d", r.StatusCode)
	}
	r := s.ask("GET", path, nil)
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 2 {
		t.Fatalf("%d %v", r.StatusCode, r.Cookies())
	}
	if got := s.ask("GET", "/api/auth/me", withCookies(r.Cookies())); bodyOf(t, got)["user"] != "local" {
		t.Errorf("%d", got.StatusCode)
	}
	if r := s.ask("GET", path, nil); r.StatusCode != 401 {
		t.Errorf("the second time: %d", r.StatusCode)
	}
	if with := newSite(t, nil); with.d.once != nil {
		t.Error("there is one beside a password")
	}
}
