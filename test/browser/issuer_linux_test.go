package browser

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// issuer is where somebody has an account: another site than the dashboard's, for a browser takes localhost and 127.0.0.1
// for two. It asks on a page of its own, and every code that it gives is good for once.
type issuer struct {
	url string
	key *rsa.PrivateKey

	mu    sync.Mutex
	asked map[string]url.Values // what a login was asked for with, by the code that it was given
	back  []string              // where browsers were sent
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, asked: make(map[string]url.Values)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token", "jwks_uri": i.url + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "authorization_response_iss_parameter_supported": true})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "kid": "k", "alg": "RS256",
			"n": inBase64(key.N.Bytes()), "e": inBase64(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Issuer</title><link rel="icon" href="data:,"><form method="post" action="/allow"><input type="hidden" name="asked" value="%s"><button>Allow</button></form>`, html.EscapeString(r.URL.RawQuery))
	})
	mux.HandleFunc("POST /allow", i.allow)
	mux.HandleFunc("POST /token", i.token)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return i
}

func inBase64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// allow sends the browser back with a code.
func (i *issuer) allow(w http.ResponseWriter, r *http.Request) {
	asked, err := url.ParseQuery(r.PostFormValue("asked"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code := rand.Text()
	to := asked.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {asked.Get("state")}, "iss": {i.url}}.Encode()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked[code], i.back = asked, append(i.back, to)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// token tells for a code whose account it is.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	asked := i.asked[r.PostFormValue("code")]
	delete(i.asked, r.PostFormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if asked == nil || asked.Get("code_challenge") != inBase64(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, `{"error":"invalid_grant"}`)
		return
	}
	header, _ := json.Marshal(map[string]any{"alg": "RS256", "kid": "k"})
	claims, _ := json.Marshal(map[string]any{"iss": i.url, "aud": "hermes", "sub": "17", "nonce": asked.Get("nonce"), "email": "me@here.example", "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()})
	text := inBase64(header) + "." + inBase64(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": "t", "token_type": "Bearer", "id_token": text + "." + inBase64(signature)})
}

// lastBack is where the issuer sent the browser the last time.
func (i *issuer) lastBack() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.back[len(i.back)-1]
}

const logInThere = "Log in with OpenID Connect"

// Who has an account at another site goes there and comes back to the page that was asked for, without a stop at the
// login. The address by which somebody came back lets in nobody else, and nobody again.
func TestLoggingInAtAnotherSite(t *testing.T) {
	i := newIssuer(t)
	h := newHouse(t, "HERMES_DASHBOARD_OIDC_ISSUER="+i.url, "HERMES_DASHBOARD_OIDC_CLIENT_ID=hermes", "HERMES_DASHBOARD_OIDC_ALLOW=me@here.example")
	p := newTab(t)
	p.open(h.url + "/services?x=1")
	p.arrives("/login")
	p.click("link", logInThere)
	p.arrives("/authorize")
	p.click("button", "Allow")
	p.arrives("/services")
	p.sees("me@here.example")
	p.holds("the query is kept too", "location.search === '?x=1'")
	if from := ask[string](p, "document.referrer"); !strings.HasPrefix(from, h.url+"/auth/callback") {
		t.Errorf("it came by %s", from)
	}
	back := i.lastBack()
	other := newTab(t)
	other.open(back)
	other.sees("begun in another browser")
	p.open(back)
	p.arrives("/") // there is a session, though this was none of its logins
	p.sees("me@here.example")
}

// Who begins a login in two tabs comes in by the one that was begun last; the other one finds that out.
func TestALoginThatWasBegunInTwoTabs(t *testing.T) {
	i := newIssuer(t)
	h := newHouse(t, "HERMES_DASHBOARD_OIDC_ISSUER="+i.url, "HERMES_DASHBOARD_OIDC_CLIENT_ID=hermes", "HERMES_DASHBOARD_OIDC_ALLOW=me@here.example")
	first := newTab(t)
	second := newTabBeside(first)
	for _, p := range []*tab{first, second} {
		p.open(h.url + "/login")
		p.click("link", logInThere)
		p.arrives("/authorize")
	}
	first.click("button", "Allow")
	first.arrives("/login")
	first.sees("log in again")
	second.click("button", "Allow")
	second.arrives("/")
	second.sees("me@here.example")
	first.open(h.url + "/services")
	first.sees("me@here.example")
}
