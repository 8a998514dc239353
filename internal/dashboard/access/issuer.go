package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"hermes.example/hermes/internal/config"
)

// issuer is who knows people by OpenID Connect. It is asked for where its things are when somebody first logs in, and
// again while it does not answer, but not by everybody at once.
type issuer struct {
	name, display string
	settings      config.OpenID
	allow         allowed
	// problem is why nobody logs in by it, whatever they try; empty if somebody can.
	problem string
	client  *http.Client
	now     func() time.Time

	turn  chan struct{} // held by who looks at what follows
	found *found
	tried time.Time
	why   error // of the last try
}

// found is where the issuer says that its things are.
type found struct {
	*oidc.Provider
	named bool // it says its name with every answer
}

// The bounds on what an issuer may take and send, and how soon one that does not answer is asked again.
const (
	issuerTime   = 10 * time.Second
	longestReply = 1 << 20
	askAgain     = 5 * time.Second

	mostRedirects = 3
)

// issuers are those that are set up. The log is told what is wrong with them.
func (a *Access) newIssuers() []*issuer {
	var all []*issuer
	add := func(name, display, variables, address string, s config.OpenID) {
		allow, ignored := parseAllowed(s.Allow)
		for _, word := range ignored {
			a.log.Warn(fmt.Sprintf("%sALLOW has %q, which is neither an e-mail address nor sub:SUBJECT, group:NAME or *: it is ignored", variables, word))
		}
		i := &issuer{name: name, display: display, settings: s, allow: allow, now: a.signer.now, turn: make(chan struct{}, 1),
			client: &http.Client{Timeout: issuerTime, Transport: bounded{http.DefaultTransport}, CheckRedirect: follow}}
		switch {
		case s.Issuer == "":
			i.problem = "set " + address + " to its address"
		case !private(s.Issuer):
			i.problem = address + " is no https address"
		case len(allow) == 0:
			i.problem = "nobody is allowed to come in by it; set " + variables + "ALLOW to e-mail addresses, sub:SUBJECT, group:NAME, or * for everybody who has an account there"
		case a.settings.PublicURL == "" && !config.IsLoopback(a.settings.Host):
			i.problem = "set HERMES_DASHBOARD_PUBLIC_URL to how people reach this dashboard"
		}
		if i.problem != "" {
			a.log.Warn("nobody can log in by " + display + ": " + i.problem)
		} else if slices.Contains(s.Allow, everybody) {
			a.log.Warn("everybody who has an account there may come in", "issuer", s.Issuer)
		}
		all = append(all, i)
	}
	if s := a.settings.Nous; s.ClientID != "" {
		add("nous", "Nous Research", "HERMES_DASHBOARD_OAUTH_", "HERMES_DASHBOARD_PORTAL_URL", s)
	}
	if s := a.settings.OIDC; s.Issuer != "" && s.ClientID != "" {
		add("oidc", "OpenID Connect", "HERMES_DASHBOARD_OIDC_", "HERMES_DASHBOARD_OIDC_ISSUER", s)
	}
	return all
}

// private says whether nobody on the way sees what is sent to an address.
func private(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && config.IsLoopback(u.Hostname()))
}

// follow says whether an issuer is believed that its things are elsewhere: so they may be, where nobody on the way sees or
// changes what they are, but a code or a secret is told to nobody whom it did not name before.
func follow(to *http.Request, from []*http.Request) error {
	switch {
	case from[0].Method != http.MethodGet, from[0].Header.Get("Authorization") != "", len(from) > mostRedirects:
		return errors.New("it leads to another address")
	case !private(to.URL.String()):
		return errors.New("it leads to an address that is not https")
	}
	return nil
}

// provider is what the issuer says of itself.
func (i *issuer) provider(ctx context.Context) (*found, error) {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if i.found != nil || i.why != nil && i.now().Sub(i.tried) < askAgain {
		return i.found, i.why
	}
	i.found, i.why = i.discover(context.WithoutCancel(ctx)) // for all, not only for who asked first
	i.tried = i.now()
	return i.found, i.why
}

func (i *issuer) discover(ctx context.Context) (*found, error) {
	at, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.settings.Issuer)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the issuer %s: %s", i.settings.Issuer, oneLine(err))
	}
	var says struct {
		Keys  string `json:"jwks_uri"`
		Named bool   `json:"authorization_response_iss_parameter_supported"`
	}
	if err := at.Claims(&says); err != nil {
		return nil, err
	}
	for _, address := range []string{at.Endpoint().AuthURL, at.Endpoint().TokenURL, says.Keys} {
		if !private(address) {
			return nil, fmt.Errorf("cannot use the issuer %s: it names an address that is not https", i.settings.Issuer)
		}
	}
	if address := at.UserInfoEndpoint(); address != "" && !private(address) {
		return nil, fmt.Errorf("cannot use the issuer %s: it names an address that is not https", i.settings.Issuer)
	}
	return &found{at, says.Named}, nil
}

// oneLine is what another program said, fit for a log.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// bounded reads no more of an answer than is good for us.
type bounded struct{ http.RoundTripper }

var errTooLong = errors.New("the answer is too long")

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, longestReply}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
