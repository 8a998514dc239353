package access

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hermes.example/hermes/internal/gate"
)

// caller is where a request came from, as far as that can be believed.
type caller struct {
	address netip.Addr
	host    string // that the caller asked for, as its browser knows it
	https   bool
}

// proxies are those whose word about a caller counts.
type proxies []netip.Prefix

func (p proxies) trust(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// caller of a request: whoever is connected, or, if that is a trusted proxy, whom it names. In a chain of addresses
// the last one that is not a trusted proxy's counts: all before it may be made up.
func (p proxies) caller(r *http.Request) caller {
	c := caller{host: r.Host, https: r.TLS != nil}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.address = peer.Addr().Unmap().WithZone("")
	}
	if !p.trust(c.address) {
		return c
	}
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(chain) {
		address, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break
		}
		if c.address = address.Unmap().WithZone(""); !p.trust(c.address) {
			break
		}
	}
	c.https = strings.EqualFold(last(r.Header.Values("X-Forwarded-Proto")), "https")
	if host := last(r.Header.Values("X-Forwarded-Host")); host != "" {
		c.host = host
	}
	return c
}

// callerOf is the caller of a request. People who come by the name of an address with https are taken to come by https,
// also where nobody who is trusted says so.
func (a *Access) callerOf(r *http.Request) caller {
	c := a.proxies.caller(r)
	if u, err := url.Parse(a.settings.PublicURL); err == nil && u.Scheme == "https" && u.Host != "" && strings.EqualFold(u.Host, c.host) {
		c.https = true
	}
	return c
}

// last is the value of a header that the nearest proxy set.
func last(values []string) string {
	all := strings.Split(strings.Join(values, ","), ",")
	return strings.TrimSpace(all[len(all)-1])
}

// hosts are the names by which the dashboard may be asked for: of the address that is listened on, and of the one that
// people know. Where all addresses of the machine are, any will do: there is always a login.
func hosts(listen string, loopback bool, publicURL string) gate.Hosts {
	var names []string
	if address, err := netip.ParseAddr(listen); err == nil && address.IsUnspecified() {
		names = append(names, gate.AnyName)
	}
	if u, err := url.Parse(publicURL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	return gate.NewHosts(listen, loopback, names...)
}

// foreign says whether a page of another origin makes this request. Browsers say so; what is none has no cookies to lose.
// A WebSocket has to say where it comes from: no rule of browsers keeps the pages of others from opening one. A link on
// another's page may lead here, but nothing here is part of another's page: what listens on another port of this host is
// of the same site, and gets our cookies sent with all that it asks for.
func foreign(r *http.Request, host string) bool {
	origins := r.Header.Values("Origin")
	if len(origins) > 0 {
		u, err := url.Parse(origins[0])
		return err != nil || len(origins) > 1 || u.Host == "" || !strings.EqualFold(u.Host, host)
	}
	if r.Header.Get("Upgrade") != "" {
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	return changes(r) || r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
