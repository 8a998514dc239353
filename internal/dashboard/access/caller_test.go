package access

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"hermes.example/hermes/internal/config"
)

// A page whose name was made to lead here says that name, whatever else it says: it can send every header that a proxy
// would, and where the proxy is on this machine, from the same address.
func TestAProxysHeadersHideNoName(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	for host, want := range map[string]int{"evil.example:9119": http.StatusBadRequest, "127.0.0.1:9119": http.StatusOK} {
		r := s.ask("GET", "/api/status", func(r *http.Request) {
			r.Host = host
			r.Header.Set("X-Forwarded-Host", "127.0.0.1:9119")
			r.Header.Set("Origin", "http://127.0.0.1:9119")
		})
		if r.StatusCode != want {
			t.Errorf("as %s: %d", host, r.StatusCode)
		}
	}
}

// What is behind the door knows the name that the browser asked for, and compares origins with that.
func TestTheNameThatTheBrowserKnowsIsHandedOn(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")} })
	for peer, want := range map[string]string{"10.0.0.1:1": "me.example", "10.0.0.2:1": "127.0.0.1:9119"} {
		r := s.ask("GET", loginPath, func(r *http.Request) {
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-Host", "me.example")
		})
		if got := bodyOf(t, r)["host"]; got != want {
			t.Errorf("from %s: %v", peer, got)
		}
	}
}

// Who comes by the name of a public address with https came by https, though nobody who is trusted says so; who comes by
// another name did not: a browser would keep no cookie that is secure.
func TestAPublicAddressSaysWhetherThereIsTLS(t *testing.T) {
	for public, hosts := range map[string]map[string]bool{
		"https://me.example":      {"me.example": true, "ME.example": true, "127.0.0.1:9119": false, "me.example:8443": false},
		"https://me.example:8443": {"me.example:8443": true, "me.example": false},
		"http://me.example":       {"me.example": false},
		"":                        {"localhost:9119": false},
	} {
		s := newSite(t, func(d *config.Dashboard) { d.PublicURL = public })
		for host, secure := range hosts {
			r := s.login("me", "pw", func(r *http.Request) { r.Host = host })
			if len(r.Cookies()) != 2 {
				t.Fatalf("%q as %s: %d", public, host, r.StatusCode)
			}
			for _, c := range r.Cookies() {
				if c.Secure != secure {
					t.Errorf("%q as %s: %s is secure: %v", public, host, c.Name, c.Secure)
				}
			}
		}
	}
}

// Who logs in at an issuer is sent back to where he came from, or by how people reach this dashboard.
func TestWhereAnIssuerSendsPeopleBackTo(t *testing.T) {
	l := newLiar(t)
	for name, test := range map[string]struct{ public, proto, want string }{
		"here":                  {"", "", "http://127.0.0.1:9119/auth/callback"},
		"here, by TLS":          {"", "https", "https://127.0.0.1:9119/auth/callback"},
		"by a public address":   {"https://me.example", "", "https://me.example/auth/callback"},
		"by one that is none":   {"me", "", "http://127.0.0.1:9119/auth/callback"},
		"by one without a host": {"/x", "", "http://127.0.0.1:9119/auth/callback"},
	} {
		s := newSite(t, func(d *config.Dashboard) {
			noLogin(d)
			d.PublicURL, d.TrustedProxies = test.public, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
			d.OIDC = config.OpenID{Issuer: l.URL, ClientID: "hermes", Allow: []string{"*"}}
		})
		r := s.ask("GET", oauthPath+"?provider=oidc", func(r *http.Request) {
			if test.proto != "" {
				r.Header.Set("X-Forwarded-Proto", test.proto)
			}
		})
		to, err := url.Parse(r.Header.Get("Location"))
		if err != nil || to.Query().Get("redirect_uri") != test.want {
			t.Errorf("%s: %s", name, to)
		}
	}
}
