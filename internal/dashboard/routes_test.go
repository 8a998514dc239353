package dashboard

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/dashboard/house"
	"hermes.example/hermes/internal/gateway/api"
)

// request is one that the house or a gateway's API in it answers.
type request struct{ method, path string }

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// all are the requests of both tables, with something in the place of each parameter.
func all(t *testing.T) (found []request) {
	t.Helper()
	for _, pattern := range house.Patterns() {
		method, path, hasMethod := strings.Cut(pattern, " ")
		if !hasMethod {
			method, path = "GET", pattern
		}
		found = append(found, request{method, path})
	}
	for _, o := range (&api.API{}).Operations() {
		found = append(found, request{o.Method, "/api/profiles/default" + o.Path})
	}
	for i := range found {
		found[i].path = parameter.ReplaceAllString(found[i].path, "x")
	}
	if len(found) < 40 {
		t.Fatalf("only %d requests are known: %v", len(found), found)
	}
	return found
}

// guarded is a dashboard whose inside a test sees being reached.
type guarded struct {
	t       *testing.T
	handler http.Handler
	reached bool
	cookies []*http.Cookie
	mark    string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{t: t}
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { g.reached = true; w.WriteHeader(http.StatusNoContent) })
	d, err := New(Options{Settings: config.Dashboard{Host: "127.0.0.1", Basic: config.BasicAuth{TTL: time.Hour}}, Log: slog.New(slog.DiscardHandler), House: inside, Pages: inside})
	if err != nil {
		t.Fatal(err)
	}
	g.handler = d.Handler()
	open, _ := strings.CutPrefix(d.door.Open(local{}), "http://127.0.0.1:9119")
	g.cookies = g.ask(request{"GET", open}, nil).Cookies()
	var me struct{ CSRF string }
	text, _ := io.ReadAll(g.ask(request{"GET", "/api/auth/me"}, g.loggedIn).Body)
	if err := json.Unmarshal(text, &me); err != nil || me.CSRF == "" {
		t.Fatalf("%s: %v", text, err)
	}
	g.mark = me.CSRF
	return g
}

// local is where these dashboards listen.
type local struct{}

func (local) Network() string { return "tcp" }
func (local) String() string  { return "127.0.0.1:9119" }

func (g *guarded) ask(what request, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(what.method, "http://127.0.0.1:9119"+what.path, nil)
	r.RemoteAddr = "127.0.0.1:4711"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	g.reached = false
	g.handler.ServeHTTP(w, r)
	return w.Result()
}

// loggedIn is what a page of ours sends.
func (g *guarded) loggedIn(r *http.Request) {
	for _, c := range g.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	r.Header.Set("Origin", "http://127.0.0.1:9119")
	r.Header.Set("X-CSRF-Token", g.mark)
}

// Every request of the house and of the gateway's API is refused to who has no session, comes from another page, by
// another name, or without the mark of a change; the same request of a page of ours reaches what is behind.
func TestNoRouteIsOpen(t *testing.T) {
	g := newGuarded(t)
	for _, what := range all(t) {
		for name, attempt := range map[string]struct {
			change func(*http.Request)
			want   int
		}{
			"nobody": {nil, 401},
			"somebody forged": {func(r *http.Request) {
				r.AddCookie(&http.Cookie{Name: "hermes_session_at", Value: g.cookies[1].Value + "A"})
			}, 401},
			"a session of a key": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer 0123456789abcdef0123") }, 401},
			"another page":       {func(r *http.Request) { g.loggedIn(r); r.Header.Set("Origin", "http://evil.example") }, 403},
			"a page of nowhere":  {func(r *http.Request) { g.loggedIn(r); r.Header.Set("Origin", "null") }, 403},
			"another port":       {func(r *http.Request) { g.loggedIn(r); r.Header.Set("Origin", "http://127.0.0.1:9118") }, 403},
			"a rebound name":     {func(r *http.Request) { g.loggedIn(r); r.Host = "evil.example:9119" }, 400},
			"a rebound name, all": {func(r *http.Request) {
				g.loggedIn(r)
				r.Host = "evil.example:9119"
				r.Header.Set("Origin", "http://evil.example:9119")
				r.Header.Set("X-Forwarded-Host", "127.0.0.1:9119")
			}, 400},
		} {
			r := g.ask(what, attempt.change)
			want := attempt.want
			if want == 401 && what.method == "GET" && !strings.HasPrefix(what.path, "/api") {
				want = http.StatusSeeOther
			}
			if r.StatusCode != want || g.reached {
				t.Errorf("%s: %s %s: %d, reached: %v", name, what.method, what.path, r.StatusCode, g.reached)
			}
		}
		changes := what.method != "GET" && what.method != "HEAD"
		if r := g.ask(what, func(r *http.Request) { g.loggedIn(r); r.Header.Del("X-CSRF-Token") }); g.reached == changes || changes && r.StatusCode != 403 {
			t.Errorf("without a mark: %s %s: %d, reached: %v", what.method, what.path, r.StatusCode, g.reached)
		}
		if r := g.ask(what, g.loggedIn); !g.reached {
			t.Errorf("a page of ours: %s %s: %d", what.method, what.path, r.StatusCode)
		}
	}
}

// No path is opened by writing it in another way, and who has a session is led nowhere by one.
func TestAPathInAnotherFormOpensNothing(t *testing.T) {
	g := newGuarded(t)
	for _, page := range []string{"/services/", "/sandboxes/default/a%2F%2Fb", "/sandboxes/default/a%2F..%2Fb/terminal"} { // which are called so
		if r := g.ask(request{"GET", page}, g.loggedIn); !g.reached {
			t.Errorf("%s: %d", page, r.StatusCode)
		}
	}
	for _, what := range all(t) {
		if what.path == "/" {
			continue
		}
		first := what.path[1:]
		for _, form := range []string{"//" + first, "/./" + first, "/x/../" + first, "/assets/../" + first, "/login/../" + first, "/%61" + first[1:], "/assets/%2e%2e/" + first, "/login%2f..%2f" + first} {
			if r := g.ask(request{what.method, form}, nil); g.reached || r.StatusCode < 300 {
				t.Errorf("nobody: %s %s: %d, reached: %v", what.method, form, r.StatusCode, g.reached)
			}
			r := g.ask(request{what.method, form}, g.loggedIn)
			if r.StatusCode >= 300 && r.StatusCode < 400 {
				t.Errorf("a page of ours: %s %s leads to %s", what.method, form, r.Header.Get("Location"))
			}
			if encoded := strings.Contains(form, "%"); g.reached != encoded { // that one is the path itself, or the name of a page
				t.Errorf("a page of ours: %s %s: %d, reached: %v", what.method, form, r.StatusCode, g.reached)
			}
		}
	}
}
