package access

import (
	"net/http"
	"time"
)

// cookie is one that a browser keeps for us.
type cookie struct {
	base, path string
	same       http.SameSite
}

// The cookies that hold sessions, and the one of a login that is under way elsewhere, from where a browser comes back.
// Those that go to one path go nowhere else.
var (
	accessCookie  = cookie{"hermes_session_at", "/", http.SameSiteStrictMode}
	refreshCookie = cookie{"hermes_session_rt", refreshPath, http.SameSiteStrictMode}
	loginCookie   = cookie{"hermes_login", callbackPath, http.SameSiteLaxMode}
)

// name is that of a cookie where the browser is known to use TLS, or not. With it the name says so: then a page without
// TLS, or of another name of the same domain, can put none of its own in the place of ours.
func (c cookie) name(https bool) string {
	switch {
	case https && c.path == "/":
		return "__Host-" + c.base
	case https:
		return "__Secure-" + c.base
	}
	return c.base
}

// set sets a cookie, or with an empty value takes it away.
func (c cookie) set(w http.ResponseWriter, g guest, value string, ttl time.Duration) {
	made := http.Cookie{Name: c.name(g.https), Value: value, Path: c.path, MaxAge: int(ttl.Seconds()), HttpOnly: true, Secure: g.https, SameSite: c.same}
	if value == "" {
		made.MaxAge = -1
	}
	http.SetCookie(w, &made)
}
