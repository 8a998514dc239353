package config

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Dashboard is what the configuration says about the web page. Variables win over the file.
type Dashboard struct {
	// Host and Port are where it listens (HERMES_DASHBOARD_HOST, HERMES_DASHBOARD_PORT).
	Host string
	Port int
	// PublicURL is how people reach it, where that is not Host (HERMES_DASHBOARD_PUBLIC_URL, dashboard.public_url).
	PublicURL string
	Basic     BasicAuth
	// Nous and OIDC are where people have accounts with which they may come in: at the portal of Nous Research
	// (HERMES_DASHBOARD_OAUTH_…, dashboard.oauth), and at an issuer of one's own (HERMES_DASHBOARD_OIDC_…,
	// dashboard.oauth.self_hosted).
	Nous, OIDC OpenID
	// TrustedProxies are whose word counts about where a request came from (dashboard.trusted_proxies).
	TrustedProxies []netip.Prefix
	// Insecure is a switch without an effect that people still set (HERMES_DASHBOARD_INSECURE).
	Insecure bool
	// InImage says that this is a container of our image, where no port that is published leads to loopback.
	InImage bool
	// Ignored says in one line each what of this has no meaning, and is passed over.
	Ignored []string
}

// BasicAuth is a name and a password. At most one of Password and PasswordHash is set: a password of the environment
// wins over every hash, and a hash over a password in the file. A variable may name a file that holds the password, as
// secrets of containers do (HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE); the password itself wins over that.
type BasicAuth struct {
	Username               string
	Password, PasswordHash Secret
	// Secret signs sessions; without one they end with the process.
	Secret Secret
	// TTL is how long a session lasts.
	TTL time.Duration
}

// The dashboard's defaults.
const (
	DefaultDashboardPort = 9119
	DefaultSessionTTL    = 12 * time.Hour
	LeastSessionTTL      = time.Minute
)

// Dashboard reads what is configured about the web page.
func (c Config) Dashboard() (Dashboard, error) {
	d := Dashboard{Host: LoopbackHost, Port: DefaultDashboardPort, InImage: inImage(installMark), Insecure: Switch(c.settings.lookup, "HERMES_DASHBOARD_INSECURE")}
	s, err := c.door("dashboard")
	if err != nil {
		return Dashboard{}, err
	}
	s.either("HERMES_DASHBOARD_HOST").setText(&d.Host)
	if err := s.either("HERMES_DASHBOARD_PORT").setPort(&d.Port); err != nil {
		return Dashboard{}, err
	}
	if public := s.either("HERMES_DASHBOARD_PUBLIC_URL", "dashboard", "public_url"); public.value != nil {
		public.hidden = strings.Contains(public.text(), "@") // with a password, perhaps
		site, whole := siteOf(public.text())
		if d.PublicURL = site; !whole {
			d.Ignored = append(d.Ignored, public.wrong("a site, like https://hermes.example, whose root is the dashboard").Error()+"; what is no site is ignored")
		}
	}
	if d.Nous, err = s.openID("HERMES_DASHBOARD_OAUTH_", "dashboard", "oauth"); err != nil {
		return Dashboard{}, err
	}
	s.either("HERMES_DASHBOARD_PORTAL_URL", "dashboard", "oauth", "portal_url").setText(&d.Nous.Issuer)
	if d.OIDC, err = s.openID("HERMES_DASHBOARD_OIDC_", "dashboard", "oauth", "self_hosted"); err != nil {
		return Dashboard{}, err
	}
	proxies := s.either("", "dashboard", "trusted_proxies")
	for i, text := range proxies.texts(&d.Ignored) {
		proxy, why := parseProxy(text)
		if why != "" {
			d.Ignored = append(d.Ignored, proxies.entry(i, why))
			continue
		}
		d.TrustedProxies = append(d.TrustedProxies, proxy)
	}
	d.Basic, err = s.basicAuth()
	return d, err
}

// siteOf is the site of an address, if it has one, and whether that is the whole of it.
func siteOf(address string) (site string, whole bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false
	}
	site = u.Scheme + "://" + u.Host
	return site, strings.TrimSuffix(u.String(), "/") == site
}

func (s doorSettings) basicAuth() (BasicAuth, error) {
	const variable = "HERMES_DASHBOARD_BASIC_AUTH_"
	key := func(name, key string) setting { return s.either(variable+name, "dashboard", "basic_auth", key) }
	b := BasicAuth{TTL: DefaultSessionTTL, Username: key("USERNAME", "username").orEmpty(), Secret: NewSecret(key("SECRET", "secret").orEmpty())}
	password, hash, file := key("PASSWORD", "password"), key("PASSWORD_HASH", "password_hash"), s.either(variable+"PASSWORD_FILE")
	switch {
	case password.value != nil && password.where == "":
		b.Password = NewSecret(password.text())
	case file.value != nil:
		var err error
		if b.Password, err = readSecret(file); err != nil {
			return BasicAuth{}, err
		}
	case hash.value != nil:
		b.PasswordHash = NewSecret(hash.text())
	default:
		b.Password = NewSecret(password.orEmpty())
	}
	ttl := key("TTL_SECONDS", "session_ttl_seconds")
	if ttl.value != nil {
		n, err := strconv.ParseInt(ttl.text(), 10, 32)
		if err != nil || n < 0 {
			return BasicAuth{}, ttl.wrong("a whole number of seconds")
		}
		b.TTL = max(time.Duration(n)*time.Second, LeastSessionTTL)
	}
	return b, nil
}

// widest are the largest networks that may be trusted: whole providers, and not the whole world.
const (
	widest4 = 8
	widest6 = 16
)

// parseProxy reads an address or a network.
func parseProxy(text string) (proxy netip.Prefix, why string) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap().WithZone("")
		return netip.PrefixFrom(address, address.BitLen()), ""
	}
	proxy, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return proxy, "it is neither an address nor a network, like 10.0.0.0/8"
	case proxy.Addr().Is4() && proxy.Bits() < widest4, proxy.Addr().Is6() && proxy.Bits() < widest6:
		return proxy, "it trusts far too many"
	}
	return proxy.Masked(), ""
}
