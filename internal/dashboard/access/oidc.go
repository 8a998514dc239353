package access

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"hermes.example/hermes/internal/config"
)

// loginTime is what somebody has to log in elsewhere and come back.
const loginTime = 10 * time.Minute

// pending is a login that was begun here and goes on at an issuer. It is kept by the browser alone, signed.
type pending struct {
	Kind    kind   `json:"kind"`
	State   string `json:"state"`
	Issuer  string `json:"issuer"`
	Next    string `json:"next"`
	Expires int64  `json:"expires"` // seconds since 1970
}

// nonce and verifier are those of a login: both follow from its state, and nobody but us can tell them from it.
func (s signer) nonce(of pending) string {
	return encoding.EncodeToString(s.sign([]byte("nonce of " + of.State)))
}

func (s signer) verifier(of pending) string {
	return encoding.EncodeToString(s.sign([]byte("verifier of " + of.State)))
}

func (a *Access) issuer(name string) *issuer {
	for _, i := range a.issuers {
		if i.name == name {
			return i
		}
	}
	return nil
}

// client is how this dashboard shows itself to an issuer, which sends people back to it by the address that they know.
func (a *Access) client(i *issuer, at *found, g guest) *oauth2.Config {
	back := url.URL{Scheme: "http", Host: g.host}
	if g.https {
		back.Scheme = "https"
	}
	if public, err := url.Parse(a.settings.PublicURL); err == nil && public.Host != "" {
		back = *public
	}
	return &oauth2.Config{ClientID: i.settings.ClientID, ClientSecret: i.settings.ClientSecret.Reveal(), Endpoint: at.Endpoint(),
		RedirectURL: back.JoinPath(callbackPath).String(), Scopes: i.settings.Scopes}
}

// beginLogin sends somebody to an issuer.
func (a *Access) beginLogin(w http.ResponseWriter, r *http.Request) {
	i := a.issuer(r.URL.Query().Get("provider"))
	switch {
	case i == nil:
		turnAway(w, r, noIssuer)
		return
	case i.problem != "":
		turnAway(w, r, failure{http.StatusServiceUnavailable, "unconfigured", "nobody can log in by " + i.display + ": " + i.problem})
		return
	}
	at, err := i.provider(r.Context())
	if err != nil {
		a.log.Warn("a login could not begin", "issuer", i.settings.Issuer, "why", err)
		turnAway(w, r, noAnswer)
		return
	}
	p := pending{Kind: login, State: encoding.EncodeToString(random(loginSize)), Issuer: i.name, Next: inside(r.URL.Query().Get("next")), Expires: a.signer.now().Add(loginTime).Unix()}
	loginCookie.set(w, guestOf(r), a.signer.seal(p), loginTime)
	to := a.client(i, at, guestOf(r)).AuthCodeURL(p.State, oidc.Nonce(a.signer.nonce(p)), oauth2.S256ChallengeOption(a.signer.verifier(p)))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// endLogin takes somebody back whom an issuer knows, and lets them in if they are allowed to. When that session is over
// the issuer is asked again: whoever has no account there any more does not stay for a month.
func (a *Access) endLogin(w http.ResponseWriter, r *http.Request) {
	g := guestOf(r)
	p, ok := a.pendingOf(r, g)
	if ok { // who comes back from another one may still come back from this
		loginCookie.set(w, g, "", 0)
	}
	i := a.issuer(p.Issuer)
	if !ok || i == nil || i.problem != "" {
		turnAway(w, r, stale)
		return
	}
	if a.limiter.take(g.address) > 0 {
		turnAway(w, r, tooManyTries)
		return
	}
	who, err := a.whoCameBack(r, i, p)
	var refusal failure
	if err != nil && !errors.As(err, &refusal) {
		refusal = disbelieved
	}
	switch {
	case err != nil:
		a.log.Warn("a login was refused", "issuer", i.settings.Issuer, "from", g.address, "why", oneLine(err))
		turnAway(w, r, refusal)
	case !i.allow.has(who):
		a.log.Warn("an account is not allowed to come in", "issuer", i.settings.Issuer, "sub", who.Subject, "email", who.email(), "from", g.address)
		turnAway(w, r, stranger)
	default:
		a.limiter.forgive(g.address)
		a.log.Info("logged in", "user", who.shown(), "issuer", i.settings.Issuer, "sub", who.Subject, "from", g.address)
		a.letIn(w, g, who.shown(), false)
		goOn(w, p.Next)
	}
}

// pendingOf is the login that a browser comes back from, which must be the one that was begun in it.
func (a *Access) pendingOf(r *http.Request, g guest) (pending, bool) {
	state := r.URL.Query().Get("state")
	for _, c := range r.CookiesNamed(loginCookie.name(g.caller)) {
		payload, err := a.signer.unseal(c.Value)
		var p pending
		if err != nil || json.Unmarshal(payload, &p) != nil || p.Kind != login || a.signer.now().Unix() >= p.Expires {
			continue
		}
		if hmac.Equal([]byte(state), []byte(p.State)) {
			return p, true
		}
	}
	return pending{}, false
}

// errorWord is what an issuer may say in an address.
var errorWord = regexp.MustCompile(`^[a-z_]{1,40}$`)

// whoCameBack is the account that the issuer says somebody has. Everything that it says is checked: that the issuer said
// it, to us, about this login, and lately.
func (a *Access) whoCameBack(r *http.Request, i *issuer, p pending) (account, error) {
	said := r.URL.Query()
	at, err := i.provider(r.Context())
	if err != nil {
		return account{}, errors.Join(err, noAnswer)
	}
	if iss := said.Get("iss"); iss != i.settings.Issuer && (iss != "" || at.named) {
		return account{}, errors.New("another issuer sent the answer")
	}
	if word := said.Get("error"); word != "" {
		if !errorWord.MatchString(word) {
			word = "something that is no word"
		}
		return account{}, fmt.Errorf("the issuer said %s: %w", word, denied)
	}
	ctx := oidc.ClientContext(r.Context(), i.client)
	tokens, err := a.client(i, at, guestOf(r)).Exchange(ctx, said.Get("code"), oauth2.VerifierOption(a.signer.verifier(p)))
	if err != nil {
		return account{}, err
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := at.Verifier(&oidc.Config{ClientID: i.settings.ClientID, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return account{}, err
	}
	var who account
	var to struct {
		Party string `json:"azp"`
	}
	if err := errors.Join(id.Claims(&who), id.Claims(&to)); err != nil {
		return account{}, err
	}
	switch {
	case !hmac.Equal([]byte(id.Nonce), []byte(a.signer.nonce(p))):
		return account{}, errors.New("the token is of another login")
	case to.Party != "" && to.Party != i.settings.ClientID:
		return account{}, errors.New("the token is for another program")
	case who.Subject == "":
		return account{}, errors.New("the token is about nobody")
	}
	if i.allow.has(who) || at.UserInfoEndpoint() == "" {
		return who, nil
	}
	return more(ctx, at, tokens, who)
}

// more asks the issuer for what it does not put into its tokens, as many do with addresses and groups.
func more(ctx context.Context, at *found, tokens *oauth2.Token, who account) (account, error) {
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return account{}, err
	}
	var further account
	if err := info.Claims(&further); err != nil {
		return account{}, err
	}
	if further.Subject != who.Subject {
		return account{}, errors.New("what the issuer says is about two accounts")
	}
	if further.Email == "" {
		further.Email, further.Verified = who.Email, who.Verified
	}
	if further.Name == "" {
		further.Name = who.Name
	}
	if further.Groups == nil {
		further.Groups = who.Groups
	}
	return further, nil
}

// goOn sends a browser to a page of ours from a page of ours. A redirect would not do: to what a page of another's led to,
// however many redirects ago, browsers send none of our cookies. It names its icon: browsers ask for one that is not there otherwise.
func goOn(w http.ResponseWriter, next string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	next = html.EscapeString(next)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="/assets/icon.svg"><meta http-equiv="refresh" content="0; url=%s"><title>Hermes</title><p><a href="%s">Go on</a></p></html>`+"\n", next, next)
}

// usable says whether anybody can log in by an issuer.
func usable(all []*issuer) bool {
	for _, i := range all {
		if i.problem == "" {
			return true
		}
	}
	return false
}

// issuersKey makes the key of a signer anew from who is allowed to come in, so that another list ends the sessions of the
// old one.
func issuersKey(key []byte, all ...config.OpenID) []byte {
	text, _ := json.Marshal(all) // texts always have some
	return sessionKey(key, "issuers", string(text))
}
