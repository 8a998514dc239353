package access

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// liar is an issuer that says what a test wants. One that is not ours is asked in test/clients: this one is for what a
// good issuer never does.
type liar struct {
	*httptest.Server
	key    *rsa.PrivateKey // that it says it has
	signs  *rsa.PrivateKey // that it has
	alg    string
	claims map[string]any // in its tokens
	info   map[string]any // of its accounts, nil for none
	// challenge is that of the login that was begun last; secret is what it was shown.
	challenge, secret string
	change            func(document map[string]any)
	asked, told       int // for its document; a code
}

var testKeys = func() (keys [2]*rsa.PrivateKey) {
	for i := range keys {
		keys[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return keys
}()

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{key: testKeys[0], signs: testKeys[0], alg: "RS256", change: func(map[string]any) {}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		l.asked++
		document := map[string]any{"issuer": l.URL, "authorization_endpoint": l.URL + "/authorize", "token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}, "response_types_supported": []string{"code"}}
		if l.info != nil {
			document["userinfo_endpoint"] = l.URL + "/me"
		}
		l.change(document)
		answer(w, 200, document)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		e := big.NewInt(int64(l.key.E)).Bytes()
		answer(w, 200, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "kid": "k", "alg": "RS256", "n": raw(l.key.N.Bytes()), "e": raw(e)}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		l.told++
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if raw(sum[:]) != l.challenge || r.PostFormValue("code") != "the code" {
			answer(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		_, l.secret, _ = r.BasicAuth()
		answer(w, 200, map[string]any{"access_token": "t", "token_type": "Bearer", "id_token": l.token()})
	})
	mux.HandleFunc("/me", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, l.info) })
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

func raw(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// token is an ID token, signed in the way that the liar signs.
func (l *liar) token() string {
	header, _ := json.Marshal(map[string]any{"alg": l.alg, "kid": "k", "typ": "JWT"})
	payload, _ := json.Marshal(l.claims)
	text := raw(header) + "." + raw(payload)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	switch l.alg {
	case "RS256":
		signature, _ = rsa.SignPKCS1v15(rand.Reader, l.signs, crypto.SHA256, sum[:])
	case "HS256": // with what everybody knows
		mac := hmac.New(sha256.New, l.key.N.Bytes())
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	}
	return text + "." + raw(signature)
}

// trusting is a site that believes an issuer, and lets in whom the words name.
func trusting(t *testing.T, l *liar, allow ...string) *site {
	t.Helper()
	return newSite(t, func(d *config.Dashboard) {
		noLogin(d)
		d.PublicURL = "http://localhost:9119"
		d.OIDC = config.OpenID{Issuer: l.URL, ClientID: "hermes", ClientSecret: config.NewSecret("of-the-client"), Scopes: []string{"openid", "email"}, Allow: allow}
	})
}

// journey is a login that goes by an issuer, as a browser makes it.
type journey struct {
	s       *site
	to      *url.URL // where the browser was sent
	cookies []*http.Cookie
}

// begin begins a login, and lets the liar say of it what is right: an account with this subject.
func begin(t *testing.T, s *site, l *liar, next string) *journey {
	t.Helper()
	r := s.ask("GET", oauthPath+"?provider=oidc&next="+url.QueryEscape(next), nil)
	to, err := url.Parse(r.Header.Get("Location"))
	if r.StatusCode != http.StatusSeeOther || err != nil || len(r.Cookies()) != 1 {
		t.Fatalf("%d to %s with %v", r.StatusCode, to, r.Cookies())
	}
	l.challenge = to.Query().Get("code_challenge")
	l.claims = map[string]any{"iss": l.URL, "aud": "hermes", "sub": "17", "nonce": to.Query().Get("nonce"), "email": "me@here.example", "email_verified": true,
		"iat": s.clock.at.Unix(), "exp": s.clock.at.Add(time.Minute).Unix()}
	return &journey{s, to, r.Cookies()}
}

// end comes back to the site, with what the test changes.
func (j *journey) end(change func(url.Values)) *http.Response {
	back := url.Values{"code": {"the code"}, "state": {j.to.Query().Get("state")}}
	if change != nil {
		change(back)
	}
	return j.s.ask("GET", callbackPath+"?"+back.Encode(), withCookies(j.cookies))
}

// sessions are the cookies of an answer that let somebody in.
func sessions(r *http.Response) (in []*http.Cookie) {
	for _, c := range r.Cookies() {
		if c.Name == "hermes_session_at" && c.MaxAge > 0 {
			in = append(in, c)
		}
	}
	return in
}
