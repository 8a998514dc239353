package access

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
)

// site is a door that is asked without a network, so that a test says where a request comes from.
type site struct {
	t       *testing.T
	a       *Access
	clock   *clock
	log     *bytes.Buffer
	handler http.Handler
}

func newSite(t *testing.T, change func(*config.Dashboard)) *site {
	t.Helper()
	s := config.Dashboard{Host: "127.0.0.1", Port: 9119, Basic: cheap("me", "pw", "")}
	if change != nil {
		change(&s)
	}
	c, log := newClock(), new(bytes.Buffer)
	a, err := New(Options{Settings: s, Log: slog.New(slog.NewTextHandler(log, nil)), Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return &site{t, a, c, log, a.Guard(http.HandlerFunc(behind))}
}

// behind is what the door guards here: it says who came in, and to what.
func behind(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusTeapot, map[string]any{"user": UserOf(r), "path": r.URL.Path, "host": r.Host})
}

func noLogin(s *config.Dashboard) { s.Basic = config.BasicAuth{TTL: config.DefaultSessionTTL} }

// ask makes a request, changed by the test, and returns the answer.
func (s *site) ask(method, path string, change func(*http.Request)) *http.Response {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:9119"+path, nil)
	r.RemoteAddr = "127.0.0.1:4711"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) map[string]any {
	t.Helper()
	text, _ := io.ReadAll(r.Body)
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return body
}

// login sends a name and a password.
func (s *site) login(user, password string, change func(*http.Request)) *http.Response {
	return s.ask("POST", passwordPath, func(r *http.Request) {
		body, _ := json.Marshal(map[string]string{"username": user, "password": password})
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if change != nil {
			change(r)
		}
	})
}

func withCookies(cookies []*http.Cookie) func(*http.Request) {
	return func(r *http.Request) {
		for _, c := range cookies {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
}

func TestWhatEverybodyMayKnow(t *testing.T) {
	s := newSite(t, nil)
	for path, want := range map[string]string{
		"/health":             `{"status":"ok"}`,
		"/api/status":         `{"auth_required":true,"authenticated":false,"status":"ok"}`,
		"/api/auth/providers": `{"providers":[{"name":"basic","display_name":"Name and password","supports_password":true,"login":"/auth/password-login"}]}`,
	} {
		r := s.ask("GET", path, nil)
		if text, _ := io.ReadAll(r.Body); r.StatusCode != 200 || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s: %d %s", path, r.StatusCode, text)
		}
		for name, value := range headers {
			if r.Header.Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, r.Header.Get(name))
			}
		}
	}
}

// Whatever a path looks like, without a session there is nothing behind it.
func TestNothingElseIsAnsweredWithoutASession(t *testing.T) {
	s := newSite(t, nil)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		for _, path := range []string{"/api/sessions", "/api/auth/me", "/api", "/api/", "/api/nowhere", "/api/status/", "/api/status/../sessions",
			"/api//status", "/api/status/%2e%2e/auth/me", "/api/auth/providers/x", "/API/status", "//api/auth/me", "/", "/secret", "/health/x", "/login/", "/login/../services", "/assets", "/assets/../services", "/assets/..%2fapi/overview", "/auth/logout", "/icon.svg/x"} {
			r := s.ask(method, "", func(r *http.Request) {
				u, err := url.Parse("http://127.0.0.1:9119" + path)
				if err != nil {
					t.Fatal(err)
				}
				r.URL, r.RequestURI = u, path
			})
			away := r.StatusCode == http.StatusSeeOther && strings.HasPrefix(r.Header.Get("Location"), "/login") && !strings.HasPrefix(path, "/api")
			if r.StatusCode != 401 && !away {
				t.Errorf("%s %s: %d", method, path, r.StatusCode)
			}
		}
	}
	for _, path := range []string{"/login", "/login?next=/", "/assets/app.js", "/icon.svg", "/favicon.ico"} {
		if r := s.ask("GET", path, nil); r.StatusCode != http.StatusTeapot || bodyOf(t, r)["user"] != "" {
			t.Errorf("what a login is made of, %s: %d", path, r.StatusCode)
		}
		if r := s.ask("POST", path, nil); r.StatusCode != 401 {
			t.Errorf("POST %s: %d", path, r.StatusCode)
		}
	}
	for path := range s.a.routes() {
		if r := s.ask("DELETE", path, nil); r.StatusCode != 401 && (r.StatusCode != 405 || r.Header.Get("Allow") == "") {
			t.Errorf("DELETE %s: %d, allowed is %q", path, r.StatusCode, r.Header.Get("Allow"))
		}
	}
}

// Whoever is asked to log in comes back to the page that was meant, and to no place that is not here.
func TestWhereOneComesBackTo(t *testing.T) {
	s := newSite(t, nil)
	for path, to := range map[string]string{"/": "/login", "/services": "/login?next=%2Fservices", "/sandboxes/a%20b/c?x=1": "/login?next=%2Fsandboxes%2Fa%2520b%2Fc%3Fx%3D1"} {
		if r := s.ask("GET", path, nil); r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != to {
			t.Errorf("%s: %d to %s", path, r.StatusCode, r.Header.Get("Location"))
		}
	}
	for _, outside := range []string{"", "x", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/", "https:evil.example", "javascript:alert(1)",
		"/a/../..//evil.example", "/%2e%2e//evil.example", "/\t/evil.example", "/auth/once?token=x", "/api/overview", "/login", "/" + strings.Repeat("x", longest)} {
		if got := inside(outside); got != "/" {
			t.Errorf("%q is a page here: %q", outside, got)
		}
	}
}

func TestByWhichNamesItIsAskedFor(t *testing.T) {
	for listen, names := range map[string]map[string]bool{
		"127.0.0.1": {"127.0.0.1:9119": true, "localhost:8000": true, "LOCALHOST": true, "[::1]:9119": true, "[::1]": true, "evil.example": false, "evil.example:9119": false,
			"localhost.evil.example": false, "127.0.0.1.evil.example": false, "": false, "127.0.0.1@evil.example": false, "localhost.": false, "0.0.0.0:9119": false, "me.example": true},
		"localhost":   {"localhost:9119": true, "evil.example": false},
		"::1":         {"[::1]:9119": true, "127.0.0.1": true, "evil.example": false},
		"192.168.1.5": {"192.168.1.5:9119": true, "me.example": true, "localhost": false, "evil.example": false},
		"0.0.0.0":     {"192.168.1.5": true, "nas.local:9119": true},
		"::":          {"nas.local:9119": true},
	} {
		s := newSite(t, func(d *config.Dashboard) { d.Host, d.PublicURL = listen, "https://Me.example/x" })
		for host, allowed := range names {
			r := s.ask("GET", "/api/status", func(r *http.Request) { r.Host = host })
			if (r.StatusCode == 200) != allowed || !allowed && r.StatusCode != 400 {
				t.Errorf("%s as %q: %d", listen, host, r.StatusCode)
			}
		}
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	s := newSite(t, nil)
	for _, test := range []struct {
		method, origin, site, mode string
		allowed                    bool
	}{
		{"POST", "", "", "", true}, // no browser
		{"POST", "http://127.0.0.1:9119", "same-origin", "", true},
		{"POST", "http://127.0.0.1:9118", "", "", false}, // another port is another site
		{"POST", "http://localhost:9119", "", "", false}, // another name too
		{"POST", "http://evil.example", "cross-site", "", false},
		{"POST", "null", "", "", false},
		{"POST", "", "cross-site", "", false},
		{"POST", "", "same-site", "", false},
		{"POST", "", "none", "", true},
		{"POST", "http://127.0.0.1:9119.evil.example", "", "", false},
		{"POST", "http://127.0.0.1:91190", "", "", false},
		{"POST", "127.0.0.1:9119", "", "", false},
		{"GET", "http://evil.example", "cross-site", "", false},
		{"GET", "", "cross-site", "navigate", true},   // a link on another's page
		{"GET", "", "cross-site", "no-cors", false},   // an image on it
		{"GET", "", "same-site", "no-cors", false},    // of another port too, to which browsers send the same cookies
		{"GET", "", "same-origin", "no-cors", true},   // an image of ours
		{"POST", "", "cross-site", "navigate", false}, // a form
	} {
		path, fine := refreshPath, 401 // it is asked for, and has no session
		if test.method == "GET" {
			path, fine = "/api/status", 200
		}
		r := s.ask(test.method, path, func(r *http.Request) {
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			if test.site != "" {
				r.Header.Set("Sec-Fetch-Site", test.site)
			}
			if test.mode != "" {
				r.Header.Set("Sec-Fetch-Mode", test.mode)
			}
		})
		if !test.allowed {
			fine = 403
		}
		if r.StatusCode != fine {
			t.Errorf("%+v: %d", test, r.StatusCode)
		}
	}
	two := s.ask("POST", refreshPath, func(r *http.Request) { r.Header["Origin"] = []string{"http://127.0.0.1:9119", "http://evil.example"} })
	if two.StatusCode != 403 {
		t.Errorf("two origins: %d", two.StatusCode)
	}
}

func TestWhoseWordCounts(t *testing.T) {
	p := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}
	for name, test := range map[string]struct {
		peer  string
		chain []string
		want  string
		https bool
	}{
		"nobody's":            {"192.0.2.1:1", []string{"198.51.100.7"}, "192.0.2.1", false},
		"a proxy's":           {"10.0.0.1:1", []string{"198.51.100.7"}, "198.51.100.7", true},
		"two proxies'":        {"10.0.0.1:1", []string{"198.51.100.7, 10.0.0.2"}, "198.51.100.7", true},
		"not the made up one": {"10.0.0.1:1", []string{"127.0.0.1, 198.51.100.7"}, "198.51.100.7", true},
		"over two headers":    {"10.0.0.1:1", []string{"1.1.1.1", "198.51.100.7"}, "198.51.100.7", true},
		"not nonsense":        {"10.0.0.1:1", []string{"198.51.100.7, banana"}, "10.0.0.1", true},
		"of nothing":          {"10.0.0.1:1", nil, "10.0.0.1", true},
		"mapped":              {"[::ffff:10.0.0.1]:1", []string{"::ffff:198.51.100.7"}, "198.51.100.7", true},
	} {
		r := httptest.NewRequest("GET", "http://x/", nil)
		r.RemoteAddr = test.peer
		r.Header["X-Forwarded-For"] = test.chain
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-Host", "me.example")
		got := p.caller(r)
		if got.address.String() != test.want || got.https != test.https || (got.host == "me.example") != test.https {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhereItDoesNotListenWithoutALogin(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*config.Dashboard)
		refused bool
	}{
		"loopback":              {func(s *config.Dashboard) { noLogin(s) }, false},
		"every address":         {func(s *config.Dashboard) { noLogin(s); s.Host = "0.0.0.0" }, true},
		"one address":           {func(s *config.Dashboard) { noLogin(s); s.Host = "192.168.1.5" }, true},
		"a name":                {func(s *config.Dashboard) { noLogin(s); s.Host = "nas.local" }, true},
		"insecure is no login":  {func(s *config.Dashboard) { noLogin(s); s.Host, s.Insecure = "0.0.0.0", true }, true},
		"half a login":          {func(s *config.Dashboard) { noLogin(s); s.Host, s.Basic.Username = "0.0.0.0", "me" }, true},
		"a short secret":        {func(s *config.Dashboard) { s.Host, s.Basic.Secret = "0.0.0.0", config.NewSecret("short") }, true},
		"half an issuer":        {func(s *config.Dashboard) { noLogin(s); s.Host, s.OIDC.Issuer = "0.0.0.0", "https://i.example" }, true},
		"a name and a password": {func(s *config.Dashboard) { s.Host = "0.0.0.0" }, false},
		"OAuth":                 {func(s *config.Dashboard) { noLogin(s); s.Host, s.Nous.ClientID = "0.0.0.0", "id" }, false},
	} {
		s := config.Dashboard{Host: "127.0.0.1", Basic: cheap("me", "pw", "")}
		test.change(&s)
		_, err := New(Options{Settings: s, Log: slog.New(slog.DiscardHandler)})
		if _, refused := err.(*RefusedError); refused != test.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "HERMES_DASHBOARD_BASIC_AUTH_USERNAME") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %q does not say what to do", name, err)
		}
	}
}

// Beyond loopback with OAuth alone: what is public and what is not.
func TestWithOAuthAlone(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { noLogin(d); d.Host, d.Nous.ClientID = "0.0.0.0", "client" })
	r := s.ask("GET", "/api/auth/providers", nil)
	if text, _ := io.ReadAll(r.Body); r.StatusCode != 200 || !strings.Contains(string(text), `"nous"`) {
		t.Errorf("providers: %d %s", r.StatusCode, text)
	}
	if r := s.ask("GET", "/api/sessions", nil); r.StatusCode != 401 {
		t.Errorf("sessions: %d", r.StatusCode)
	}
	if r := s.ask("GET", "/api/status", nil); r.StatusCode != 200 || bodyOf(t, r)["auth_required"] != true {
		t.Errorf("status: %d", r.StatusCode)
	}
	// What is missing is said, and not pretended.
	if r := s.ask("GET", "/auth/login?provider=nous", nil); r.StatusCode != 503 || !strings.Contains(bodyOf(t, r)["error"].(string), "set HERMES_DASHBOARD_PORTAL_URL") {
		t.Errorf("login: %d", r.StatusCode)
	}
	if r := s.ask("GET", "/auth/login?provider=other", nil); r.StatusCode != 404 {
		t.Errorf("another login: %d", r.StatusCode)
	}
	if r := s.login("me", "pw", nil); r.StatusCode != 404 {
		t.Errorf("a password: %d", r.StatusCode)
	}
	if r := s.ask("GET", oncePath+"?token=", nil); r.StatusCode != 401 {
		t.Errorf("an address: %d", r.StatusCode)
	}
}

func TestInsecureOnlyWarns(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.Insecure = true })
	if !strings.Contains(s.log.String(), "HERMES_DASHBOARD_INSECURE") {
		t.Errorf("log: %s", s.log)
	}
	if r := s.ask("GET", "/api/sessions", nil); r.StatusCode != 401 {
		t.Errorf("sessions: %d", r.StatusCode)
	}
}
