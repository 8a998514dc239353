package access

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"hermes.example/hermes/internal/config"
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

// name is that of a cookie for who came this way. Where the browser is known to use TLS the name says so: then a page
// without TLS, or of another name of the same domain, can put none of its own in the place of ours. Away from the usual
// port it has the port, for browsers keep one cookie of a name for all ports of a host: who logs in at another dashboard
// there would be logged out of this one.
func (c cookie) name(from caller) string {
	name := c.base
	if _, text, err := net.SplitHostPort(from.host); err == nil {
		if port, err := strconv.ParseUint(text, 10, 16); err == nil && port != config.DefaultDashboardPort {
			name += "_" + strconv.FormatUint(port, 10)
		}
	}
	switch {
	case from.https && c.path == "/":
		return "__Host-" + name
	case from.https:
		return "__Secure-" + name
	}
	return name
}

// set sets a cookie, or with an empty value takes it away.
func (c cookie) set(w http.ResponseWriter, g guest, value string, ttl time.Duration) {
	made := http.Cookie{Name: c.name(g.caller), Value: value, Path: c.path, MaxAge: int(ttl.Seconds()), HttpOnly: true, Secure: g.https, SameSite: c.same}
	if value == "" {
		made.MaxAge = -1
	}
	http.SetCookie(w, &made)
}
