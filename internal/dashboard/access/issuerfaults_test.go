package access

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// openly is the address of something that listens on loopback, by a name that is not loopback's: to whoever looks at
// addresses it is somewhere in the network, without TLS.
func openly(t *testing.T, asked *atomic.Int64) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1)
}

// An issuer whose addresses lead on is followed where nobody can listen in, and nowhere else; what is told to it is told
// to nobody to whom it leads on.
func TestWhereAnIssuerMayLead(t *testing.T) {
	for name, test := range map[string]struct {
		path   string
		status int // of the redirect
		open   bool
		want   int
	}{
		"its document, openly":  {"/.well-known/openid-configuration", http.StatusFound, true, http.StatusBadGateway},
		"its document":          {"/.well-known/openid-configuration", http.StatusFound, false, http.StatusOK},
		"its keys, openly":      {"/keys", http.StatusFound, true, http.StatusForbidden},
		"its keys":              {"/keys", http.StatusPermanentRedirect, false, http.StatusOK},
		"what is told it":       {"/token", http.StatusTemporaryRedirect, false, http.StatusForbidden},
		"what it is asked then": {"/token", http.StatusSeeOther, false, http.StatusForbidden},
	} {
		var asked atomic.Int64
		l := newLiar(t)
		s := trusting(t, l, "*")
		real := l.Config.Handler
		l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := l.URL + "/moved" + test.path
			if test.open {
				to = openly(t, &asked)
			}
			switch r.URL.Path {
			case test.path:
				http.Redirect(w, r, to, test.status)
			case "/moved" + test.path:
				asked.Add(1)
				r.URL.Path = test.path
				fallthrough
			default:
				real.ServeHTTP(w, r)
			}
		})
		got := s.ask("GET", oauthPath+"?provider=oidc", nil)
		if got.StatusCode == http.StatusSeeOther {
			got = begin(t, s, l, "/").end(nil)
		}
		if allowed := test.want == http.StatusOK; got.StatusCode != test.want || (asked.Load() > 0) != allowed {
			t.Errorf("%s: %d; where it leads was asked %d times\n%s", name, got.StatusCode, asked.Load(), s.log)
		}
	}
}

// An issuer that speaks for ever is heard for so long and no longer.
func TestAnIssuerThatNeverEnds(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	client := s.a.issuers[0].client
	if client.Timeout != issuerTime {
		t.Fatalf("it is heard for %s", client.Timeout)
	}
	client.Timeout = 3 * time.Second // it must have begun to speak by then
	left := make(chan struct{}, 1)
	l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprint(w, " ")
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				left <- struct{}{}
				return
			case <-tick.C:
			}
		}
	})
	if r := s.ask("GET", oauthPath+"?provider=oidc", nil); r.StatusCode != http.StatusBadGateway {
		t.Errorf("%d", r.StatusCode)
	}
	select {
	case <-left:
	case <-time.After(30 * time.Second):
		t.Error("it is still heard")
	}
}

// Where an issuer says that it names itself in each answer, one without its name is not its own.
func TestAnIssuerThatNamesItselfAlwaysDoes(t *testing.T) {
	l := newLiar(t)
	l.change = func(d map[string]any) { d["authorization_response_iss_parameter_supported"] = true }
	s := trusting(t, l, "*")
	for name, test := range map[string]struct {
		iss  string
		want int
	}{"no name": {"", 403}, "another name": {"https://other.example", 403}, "its name and a bit": {l.URL + "/", 403}, "its name": {l.URL, 200}} {
		r := begin(t, s, l, "/").end(func(v url.Values) {
			if test.iss != "" {
				v.Set("iss", test.iss)
			}
		})
		if r.StatusCode != test.want || (len(sessions(r)) == 1) != (test.want == 200) {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
		s.clock.at = s.clock.at.Add(time.Minute)
	}
}

// A code that one issuer gave is never told to the other one, which could come in with it.
func TestOneIssuerLearnsNothingOfTheOther(t *testing.T) {
	l, other := newLiar(t), newLiar(t)
	other.change = func(d map[string]any) { d["authorization_response_iss_parameter_supported"] = true }
	s := newSite(t, func(d *config.Dashboard) {
		noLogin(d)
		d.OIDC = config.OpenID{Issuer: l.URL, ClientID: "hermes", Allow: []string{"*"}}
		d.Nous = config.OpenID{Issuer: other.URL, ClientID: "hermes", Allow: []string{"*"}}
	})
	j := begin(t, s, l, "/") // at the first, which sends the browser to the second, which sends it back
	if r := j.end(func(v url.Values) { v.Set("iss", other.URL) }); r.StatusCode != http.StatusForbidden || len(sessions(r)) != 0 {
		t.Errorf("%d", r.StatusCode)
	}
	if l.told != 0 || other.told != 0 {
		t.Errorf("codes were told: %d and %d times", l.told, other.told)
	}
}

// Who comes back to a tab whose login another tab's has taken the place of is told so, and the other one goes on.
func TestALoginInAnotherTabGoesOn(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	first, second := begin(t, s, l, "/"), begin(t, s, l, "/")
	first.cookies = second.cookies // a browser has the newer one
	r := first.end(nil)
	if r.StatusCode != http.StatusBadRequest || len(r.Cookies()) != 0 {
		t.Errorf("the first: %d, and cookies are changed: %v", r.StatusCode, r.Cookies())
	}
	if r := second.end(nil); len(sessions(r)) != 1 {
		t.Errorf("the second: %d", r.StatusCode)
	}
}

// An issuer that leads on and on is followed for a few steps.
func TestAnIssuerThatLeadsInCircles(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	var asked atomic.Int64
	l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	})
	if r := s.ask("GET", oauthPath+"?provider=oidc", nil); r.StatusCode != http.StatusBadGateway || asked.Load() != mostRedirects+1 {
		t.Errorf("%d, after %d steps", r.StatusCode, asked.Load())
	}
}

// Who goes away while the issuer is asked for the first time takes nothing from those who come then.
func TestWhoGivesUpSpoilsNoLoginOfOthers(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	ctx, leave := context.WithCancel(t.Context())
	l.change = func(map[string]any) { leave() }
	s.ask("GET", oauthPath+"?provider=oidc", func(r *http.Request) { *r = *r.WithContext(ctx) })
	if r := begin(t, s, l, "/").end(nil); len(sessions(r)) != 1 {
		t.Errorf("%d\n%s", r.StatusCode, s.log)
	}
	if l.asked != 1 {
		t.Errorf("it was asked %d times", l.asked)
	}
}

// Who came in has all tries again.
func TestALoginByAnIssuerIsForgivenItsTries(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	for i := range 2 * tries {
		if r := begin(t, s, l, "/").end(nil); len(sessions(r)) != 1 {
			t.Fatalf("login %d: %d", i, r.StatusCode)
		}
	}
}

// What an issuer says only when it is asked adds to what is in its tokens, and takes nothing from it.
func TestWhatAnIssuerIsAskedForAddsToItsTokens(t *testing.T) {
	for name, test := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"an address": {map[string]any{}, "me@here.example"},
		"a name":     {map[string]any{"email": "", "preferred_username": "me"}, "me"},
	} {
		l := newLiar(t)
		l.info = map[string]any{"sub": "17", "groups": []any{"admins"}}
		s := trusting(t, l, "group:admins")
		j := begin(t, s, l, "/")
		for claim, value := range test.claims {
			l.claims[claim] = value
		}
		in := sessions(j.end(nil))
		if me := bodyOf(t, s.ask("GET", "/api/auth/me", withCookies(in))); me["user"] != test.want {
			t.Errorf("%s: %v", name, me)
		}
	}
}

// What stands in an address is anybody's: the log has words of issuers, and no sentences.
func TestTheLogHasNoSentencesOfOthers(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	for _, said := range []string{"access_denied", "call this number"} {
		begin(t, s, l, "/").end(func(v url.Values) { v.Set("error", said) })
	}
	if log := s.log.String(); !strings.Contains(log, "access_denied") || !strings.Contains(log, "no word") || strings.Contains(log, "this number") {
		t.Error(log)
	}
}
