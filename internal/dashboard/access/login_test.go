package access

import (
	"fmt"
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
	paths := map[string]string{"hermes_session_at": "/", "hermes_session_rt": refreshPath}
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
	if r := s.ask("GET", "/api/sessions", withCookies(given)); r.StatusCode != http.StatusTeapot || bodyOf(t, r)["user"] != "me" {
		t.Errorf("what is behind: %d", r.StatusCode)
	}
	if body := bodyOf(t, s.ask("GET", "/api/status", withCookies(given))); body["authenticated"] != true || body["version"] == nil {
		t.Errorf("status: %v", body)
	}
	mark := markOf(t, s, given)
	out := s.ask("POST", "/auth/logout", func(r *http.Request) { withCookies(given)(r); r.Header.Set(markHeader, mark) }).Cookies()
	if len(out) != 2 || out[0].MaxAge >= 0 || out[1].MaxAge >= 0 || out[1].Path != refreshPath {
		t.Errorf("logging out: %v", out)
	}
	if strings.Contains(s.log.String(), "pw") {
		t.Error("the log has the password")
	}
}

func TestWhatALoginIsSentAs(t *testing.T) {
	s := newSite(t, nil)
	for _, test := range []struct {
		kind, body string
		want       int
	}{
		{"application/json; charset=utf-8", `{"username":"me","password":"pw"}`, 200},
		{"application/json", `["me","pw"]`, 400},
		{"application/json", `{"username":"` + strings.Repeat("x", 1<<20) + `"}`, 400},
		{"text/plain", "username=me&password=pw", 415},
		{"", "username=me&password=pw", 415},
	} {
		if r := s.send(passwordPath, test.kind, test.body); r.StatusCode != test.want {
			t.Errorf("%s %.30s: %d", test.kind, test.body, r.StatusCode)
		}
	}
}

// send posts a body.
func (s *site) send(path, kind, body string) *http.Response {
	return s.ask("POST", path, func(r *http.Request) {
		r.Header.Set("Content-Type", kind)
		r.Body = io.NopCloser(strings.NewReader(body))
	})
}

// Who uses the form of a page without scripts is a person, and is shown a page, whatever comes of it.
func TestAFormSendsAPersonOn(t *testing.T) {
	s := newSite(t, nil)
	form := func(body string) *http.Response {
		return s.send(passwordPath, "application/x-www-form-urlencoded", body)
	}
	for body, to := range map[string]string{
		"username=me&password=pw":                                 "/",
		"username=me&password=pw&next=%2Fservices%2Fx%3Fa%3D1":    "/services/x?a=1",
		"username=me&password=pw&next=https%3A%2F%2Fevil.example": "/",
		"username=me&password=no":                                 "/login?error=wrong&next=%2F",
		"username=me&password=no&next=%2Faddons":                  "/login?error=wrong&next=%2Faddons",
		"":                                                        "/login?error=wrong&next=%2F",
		"%zz":                                                     "/login?error=wrong&next=%2F",
		"username=me&password=" + strings.Repeat("x", 1<<20): "/login?error=wrong&next=%2F",
	} {
		r := form(body)
		in := !strings.HasPrefix(to, loginPath)
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != to || (len(r.Cookies()) == 2) != in {
			t.Errorf("%.40s: %d to %s with %v", body, r.StatusCode, r.Header.Get("Location"), r.Cookies())
		}
		s.clock.at = s.clock.at.Add(tryEvery)
	}
	for range tries {
		form("username=me&password=no")
	}
	if r := form("username=me&password=pw"); r.Header.Get("Location") != "/login?error=wait&next=%2F" || r.Header.Get("Retry-After") == "" {
		t.Errorf("too many tries: %d to %s", r.StatusCode, r.Header.Get("Location"))
	}
	none := newSite(t, noLogin)
	if r := none.send(passwordPath, "application/x-www-form-urlencoded", "username=me&password=pw"); r.Header.Get("Location") != "/login?error=none&next=%2F" {
		t.Errorf("without passwords: %d to %s", r.StatusCode, r.Header.Get("Location"))
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

	swapped := []*http.Cookie{{Name: "hermes_session_at", Value: only("hermes_session_rt")[0].Value}, {Name: "hermes_session_rt", Value: only("hermes_session_at")[0].Value}}
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
	renewed := s.ask("POST", refreshPath, withCookies(only("hermes_session_rt")))
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

// Behind TLS the names of the cookies say so, and one that a page without TLS could have set is not taken.
func TestCookiesAreSecureBehindTLS(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	from := func(peer string) func(*http.Request) {
		return func(r *http.Request) {
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-Proto", "https")
		}
	}
	for peer, test := range map[string]struct {
		secure bool
		names  string
	}{
		"127.0.0.1:1": {true, "__Secure-hermes_session_rt __Host-hermes_session_at"},
		"192.0.2.1:1": {false, "hermes_session_rt hermes_session_at"},
	} {
		var names []string
		r := s.login("me", "pw", from(peer))
		given := r.Cookies()
		for _, c := range given {
			names = append(names, c.Name)
			if c.Secure != test.secure {
				t.Errorf("%s: %s is secure: %v", peer, c.Name, c.Secure)
			}
		}
		if strings.Join(names, " ") != test.names {
			t.Errorf("%s: %d %v", peer, r.StatusCode, names)
		}
		for _, at := range []string{"127.0.0.1:1", "192.0.2.1:1"} {
			want := http.StatusUnauthorized
			if at == peer {
				want = http.StatusOK
			}
			if r := s.ask("GET", "/api/auth/me", func(r *http.Request) { withCookies(given)(r); from(at)(r) }); r.StatusCode != want {
				t.Errorf("given to %s, used at %s: %d", peer, at, r.StatusCode)
			}
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

// Whoever has a site of IPv6 has more networks in it than anybody remembers.
func TestANetworkHasTheTriesOfOneCaller(t *testing.T) {
	l := newLimiter(newClock().now)
	for i := range tries {
		if l.take(netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", i))) != 0 {
			t.Fatalf("try %d", i)
		}
	}
	if l.take(netip.MustParseAddr("2001:db8:1:ffff::1")) == 0 {
		t.Error("every network of a site has tries of its own")
	}
	if l.take(netip.MustParseAddr("2001:db8:2::1")) != 0 {
		t.Error("another site has none")
	}
}

// When tries come from more networks than are remembered, they share what is left, and those who are near do not.
func TestTriesFromEverywhereKeepNobodyOutWhoIsNear(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.Host = "0.0.0.0" })
	from := func(address netip.Addr) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = netip.AddrPortFrom(address, 1).String() }
	}
	far, refused := netip.MustParseAddr("203.0.113.0"), 0
	for range mostCallers + 2*tries {
		if s.login("me", "no", from(far)).StatusCode == http.StatusTooManyRequests {
			refused++
		}
		far = far.Next()
	}
	if refused != tries {
		t.Errorf("%d were refused of those beyond", refused)
	}
	if r := s.login("me", "pw", from(far)); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more from afar: %d", r.StatusCode)
	}
	for _, near := range []string{"127.0.0.1", "::1", "192.168.1.7", "10.1.1.1", "172.17.0.1", "fd00::7", "fe80::1"} {
		if r := s.login("me", "pw", from(netip.MustParseAddr(near))); r.StatusCode != http.StatusOK {
			t.Errorf("from %s: %d", near, r.StatusCode)
		}
	}
}

func TestTheAddressThatIsPrintedWorksOnce(t *testing.T) {
	s := newSite(t, noLogin)
	open, err := url.Parse(s.a.Open(&net.TCPAddr{IP: net.IPv4zero, Port: 9119}))
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
	if with := newSite(t, nil); with.a.once != nil {
		t.Error("there is one beside a password")
	}
}
