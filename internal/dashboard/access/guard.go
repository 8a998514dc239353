package access

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Where things are.
const (
	loginPath    = "/login"
	assetsPath   = "/assets/"
	passwordPath = "/auth/password-login"
	logoutPath   = "/auth/logout"
	refreshPath  = "/auth/refresh"
	oncePath     = "/auth/once"
	oauthPath    = "/auth/login"
	callbackPath = "/auth/callback"
)

// headers are those of every answer. No page of ours is shown in another's, all that a page is made of comes from here,
// and nothing is kept unless what is behind the door says so. Of where a request came from this origin alone is told: a
// form of a page that tells nobody says that it came from nowhere.
var headers = map[string]string{
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
		"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "same-origin",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// route is what the door itself answers.
type route struct {
	method string
	public bool
	serve  http.HandlerFunc
}

// routes are the door's own, by their exact paths.
func (a *Access) routes() map[string]route {
	return map[string]route{
		"/health":             {"GET", true, a.health},
		"/api/status":         {"GET", true, a.status},
		"/api/auth/providers": {"GET", true, a.providers},
		"/api/auth/me":        {"GET", false, a.me},
		passwordPath:          {"POST", true, a.passwordLogin},
		refreshPath:           {"POST", true, a.refresh},
		logoutPath:            {"POST", false, a.logout},
		oncePath:              {"GET", true, a.useTicket},
		oauthPath:             {"GET", true, a.beginLogin},
		callbackPath:          {"GET", true, a.endLogin},
	}
}

// forEverybody says whether what is behind the door answers a request that has no session: the page of the login, and
// what pages are made of. Everything else does not, whether it exists or not.
func forEverybody(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch p := r.URL.Path; p {
	case loginPath, "/icon.svg", "/favicon.ico":
		return true
	default:
		return strings.HasPrefix(p, assetsPath) && path.Clean(p) == p
	}
}

// Guard lets through what is public and what has a session, and neither if it came by another name or from another's
// page. A change needs the mark of its session too. The door's own paths it answers itself; inner gets all others.
func (a *Access) Guard(inner http.Handler) http.Handler {
	routes := a.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		g := guest{caller: a.callerOf(r)}
		if !a.hosts.Allow(r.Host) {
			refuse(w, http.StatusBadRequest, "this dashboard is not asked for by that name; open it as localhost, or set HERMES_DASHBOARD_PUBLIC_URL to how people reach it")
			return
		}
		if foreign(r, g.host) {
			refuse(w, http.StatusForbidden, "another page made this request")
			return
		}
		g.session = a.sessionOf(r, g.caller)
		own, isOwn := routes[r.URL.Path]
		public := own.public || !isOwn && forEverybody(r)
		switch {
		case !public && g.session == nil:
			askToLogIn(w, r)
			return
		case !public && changes(r) && !a.signer.marked(*g.session, r.Header.Get(markHeader)):
			refuse(w, http.StatusForbidden, "this request lacks the "+markHeader+" of its session, or has that of another; load the page again")
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, g))
		r.Host = g.host // as the browser knows it, for those behind that compare
		switch {
		case !isOwn && g.session != nil:
			a.whileItLasts(inner, w, r, *g.session)
		case !isOwn:
			inner.ServeHTTP(w, r)
		case r.Method == own.method, own.method == "GET" && r.Method == "HEAD":
			own.serve(w, r)
		default:
			w.Header().Set("Allow", own.method)
			refuse(w, http.StatusMethodNotAllowed, "this is asked for with "+own.method)
		}
	})
}

// sessionOf is the session of a request; nil if it has none that holds.
func (a *Access) sessionOf(r *http.Request, c caller) *session {
	for _, cookie := range r.CookiesNamed(accessCookie.name(c)) { // another port of this host may have set one too
		if s, err := a.signer.open(access, cookie.Value); err == nil {
			return &s
		}
	}
	return nil
}

// askToLogIn sends a person to the login, who comes back from there, and refuses a program.
func askToLogIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/api") {
		refuse(w, http.StatusUnauthorized, "log in first")
		return
	}
	to := loginPath
	if next := inside(r.URL.RequestURI()); next != "/" {
		to += "?" + url.Values{"next": {next}}.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// inside is a page of this dashboard to go to: what is asked for, if it is one, else the first.
func inside(next string) string {
	u, err := url.Parse(next)
	wrong := err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\x00\r\n\t")
	if wrong || path.Clean(u.Path) != u.Path || len(next) > longest/2 {
		return "/"
	}
	for _, none := range []string{"/api", "/auth", loginPath} {
		if u.Path == none || strings.HasPrefix(u.Path, none+"/") {
			return "/"
		}
	}
	return u.RequestURI()
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]any{"error": why})
}
