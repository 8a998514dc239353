// Package dashboard is the web page of a home. So far it is the door alone: who may come in, and what everybody may
// know. Pages come later.
//
// The command line runs it, by hand or as a service. Nothing behind the door is answered without a session, on
// loopback too: any program and any page that a browser shows reaches that.
package dashboard

import (
	"context"
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
	"hermes.example/hermes/internal/listen"
)

// RefusedError is a configuration with which the dashboard does not listen: it is of no use to try again.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// Options are what a dashboard works with.
type Options struct {
	Settings config.Dashboard
	Log      *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Dashboard is the door. Its life: New decides who may come in, Serve listens until its context ends.
type Dashboard struct {
	settings config.Dashboard
	log      *slog.Logger
	proxies  proxies
	hosts    gate.Hosts
	signer   signer
	basic    *basic   // nil without a name and a password
	once     *ticket  // nil where people log in in another way
	oauth    []string // providers that are known and cannot be used yet
	ttl      time.Duration
	limiter  *gate.Rate[netip.Prefix] // of tries of a password
}

// drainTime bounds how long requests may go on after the end was asked for.
const drainTime = 4 * time.Second

// New makes a dashboard, or refuses with a *RefusedError.
func New(o Options) (*Dashboard, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := o.Settings
	loopback := config.IsLoopback(s.Host)
	d := &Dashboard{settings: s, log: o.Log, proxies: s.TrustedProxies, hosts: hosts(s.Host, loopback, s.PublicURL), ttl: s.Basic.TTL, limiter: newLimiter(o.Now)}
	for _, line := range s.Ignored {
		d.log.Warn(line)
	}
	if s.Insecure {
		d.log.Warn("HERMES_DASHBOARD_INSECURE has no effect any more: the dashboard always asks who you are")
	}
	if s.OAuthClientID != "" {
		d.oauth = append(d.oauth, "nous")
	}
	if s.OIDCIssuer != "" && s.OIDCClientID != "" {
		d.oauth = append(d.oauth, "oidc")
	}
	provider, key, err := newBasic(s.Basic)
	if err != nil {
		err = fmt.Errorf("cannot use the dashboard's name and password: %w", err)
		d.log.Warn(err.Error())
	}
	if !loopback && provider == nil && len(d.oauth) == 0 {
		return nil, refused(s.Host, err)
	}
	if d.basic = provider; provider == nil {
		key = random(keySize)
		if loopback {
			d.once = newTicket()
		}
	}
	d.signer = signer{key, o.Now}
	return d, nil
}

func refused(host string, why error) error {
	message := fmt.Sprintf("cannot listen on %s without a login", host)
	if why != nil {
		message = fmt.Sprintf("%v, and cannot listen on %s without a login", why, host)
	}
	return &RefusedError{message + ": set HERMES_DASHBOARD_BASIC_AUTH_USERNAME and HERMES_DASHBOARD_BASIC_AUTH_PASSWORD (or HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE, HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH), " +
		"or HERMES_DASHBOARD_HOST to 127.0.0.1"}
}

// Serve listens until the context ends. It calls ready with the address to open: the first time only, where there is
// no other way to log in.
func (d *Dashboard) Serve(ctx context.Context, ready func(open string)) error {
	listener, err := listen.TCP(ctx, d.settings.Host, d.settings.Port)
	if err != nil {
		return fmt.Errorf("%w; choose another port (--port or HERMES_DASHBOARD_PORT)", err)
	}
	server := &http.Server{
		Handler: d.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	open := d.url(listener.Addr())
	ready(open)
	d.announce(open)
	select {
	case err := <-served:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	<-served
	return nil
}

// announce says in the log, for who looks there, how to come in. An address that logs in by itself is not for logs.
func (d *Dashboard) announce(open string) {
	if d.basic != nil {
		d.log.Info("the dashboard is there", "open", open, "login", d.basic.name)
	}
	if d.settings.InImage && config.IsLoopback(d.settings.Host) {
		d.log.Warn("no published port leads to the dashboard, which listens inside this container only: set HERMES_DASHBOARD_HOST=0.0.0.0", "listens", d.settings.Host)
	}
}

// url is what a person opens in a browser. Where every address of the machine leads here, one that does is named, unless
// somebody said how people come here.
func (d *Dashboard) url(listening net.Addr) string {
	if public, err := url.Parse(d.settings.PublicURL); err == nil && public.Host != "" && d.once == nil {
		return public.String()
	}
	u := url.URL{Scheme: "http", Host: listening.String(), Path: "/"}
	if address, err := netip.ParseAddrPort(u.Host); err == nil && address.Addr().IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", strconv.Itoa(int(address.Port())))
	}
	if d.once != nil {
		u.Path, u.RawQuery = oncePath, url.Values{"token": {d.once.token}}.Encode()
	}
	return u.String()
}
