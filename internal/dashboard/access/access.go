// Package access is the door of the dashboard: who may come in, and what everybody may know. It owns logins, sessions,
// the marks that changes need, and what is believed of a request: its name, its origin, its proxies.
//
// The dashboard alone uses it, and hands it what is behind the door. Nothing of that is answered without a session, on
// loopback too: any program and any page that a browser shows reaches that. It must never know what is behind.
package access

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gate"
)

// RefusedError is a configuration with which the dashboard does not listen: it is of no use to try again.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// Options are what a door works with.
type Options struct {
	Settings config.Dashboard
	Log      *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Access is the door. It is made by New, which decides who may come in, and then guards what is behind it.
type Access struct {
	settings config.Dashboard
	log      *slog.Logger
	proxies  proxies
	hosts    gate.Hosts
	signer   signer
	basic    *basic   // nil without a name and a password
	once     *tickets // nil where people log in in another way
	issuers  []*issuer
	ttl      time.Duration
	limiter  limiter
}

// New makes the door, or refuses with a *RefusedError.
func New(o Options) (*Access, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := o.Settings
	loopback := config.IsLoopback(s.Host)
	a := &Access{settings: s, log: o.Log, proxies: s.TrustedProxies, hosts: hosts(s.Host, loopback, s.PublicURL), ttl: s.Basic.TTL, limiter: newLimiter(o.Now)}
	for _, line := range s.Ignored {
		a.log.Warn(line)
	}
	if s.Insecure {
		a.log.Warn("HERMES_DASHBOARD_INSECURE has no effect any more: the dashboard always asks who you are")
	}
	provider, key, err := newBasic(s.Basic)
	if err != nil {
		err = fmt.Errorf("cannot use the dashboard's name and password: %w", err)
		a.log.Warn(err.Error())
	}
	if key == nil {
		key = secretOr(s.Basic.Secret, random(keySize))
	}
	a.basic, a.signer = provider, signer{issuersKey(key, s.Nous, s.OIDC), o.Now}
	a.issuers = a.newIssuers()
	if !loopback && provider == nil && len(a.issuers) == 0 {
		return nil, refused(s.Host, err)
	}
	if loopback && provider == nil && !usable(a.issuers) {
		a.once = new(tickets)
	}
	return a, nil
}

// secretOr is the key that a secret holds, or another one where there is none that can be used.
func secretOr(s config.Secret, other []byte) []byte {
	if key, err := decodeSecret(s.Reveal()); err == nil {
		return key
	}
	return other
}

func refused(host string, why error) error {
	message := fmt.Sprintf("cannot listen on %s without a login", host)
	if why != nil {
		message = fmt.Sprintf("%v, and cannot listen on %s without a login", why, host)
	}
	return &RefusedError{message + ": set HERMES_DASHBOARD_BASIC_AUTH_USERNAME and HERMES_DASHBOARD_BASIC_AUTH_PASSWORD (or HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE, HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH), " +
		"or HERMES_DASHBOARD_HOST to 127.0.0.1"}
}

// User is the name that one logs in with here; none without a password.
func (a *Access) User() string {
	if a.basic == nil {
		return ""
	}
	return a.basic.name
}

// Open is what a person opens in a browser, of a dashboard that listens there: where there is no other way to log in,
// an address that does, once, and another one at each call. Where every address of the machine leads here, one that does
// is named, unless somebody said how people come here.
func (a *Access) Open(listening net.Addr) string {
	if public, err := url.Parse(a.settings.PublicURL); err == nil && public.Host != "" && a.once == nil {
		return public.String()
	}
	u := url.URL{Scheme: "http", Host: listening.String(), Path: "/"}
	if address, err := netip.ParseAddrPort(u.Host); err == nil && address.Addr().IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", strconv.Itoa(int(address.Port())))
	}
	if a.once != nil {
		u.Path, u.RawQuery = oncePath, url.Values{"token": {a.once.issue()}}.Encode()
	}
	return u.String()
}

// HowToLogIn says so in a line.
func (a *Access) HowToLogIn() string {
	switch {
	case a.basic != nil:
		return "Log in: POST username and password to " + passwordPath
	case a.once != nil:
		return "Open the address that \"hermes dashboard\" or \"hermes up\" printed: it works once; \"hermes dashboard url\" prints another one."
	case !usable(a.issuers):
		return "Nobody can log in by " + a.issuers[0].display + ": " + a.issuers[0].problem + "."
	default:
		return "Log in: open " + oauthPath + "?provider=" + a.issuers[0].name
	}
}

type contextKey struct{}

// guest is what the guard found out about a request: where it came from, and who makes it, if that is known.
type guest struct {
	caller
	session *session
}

func guestOf(r *http.Request) guest { return r.Context().Value(contextKey{}).(guest) }

// UserOf is who makes a request that came through the door; nobody, if it is one for everybody.
func UserOf(r *http.Request) string {
	g, _ := r.Context().Value(contextKey{}).(guest)
	if g.session == nil {
		return ""
	}
	return g.session.User
}
