package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gate"
	"hermes.example/hermes/internal/gateway/api"
)

// doorkeeper decides which requests reach what is behind the door: the API, and MCP. The order is from what costs nothing
// to what costs something, and nothing of a request's body is read before it has shown the key.
type doorkeeper struct {
	key     [sha256.Size]byte
	locked  bool // there is no key: nothing opens it
	hosts   gate.Hosts
	origins []string
	rate    *gate.Rate[struct{}]
	places  gate.Places
	metrics *api.Metrics // nil where nobody counts
	// ends says that the gateway takes nothing new.
	ends func() bool
}

func newDoorkeeper(s config.Gateway, metrics *api.Metrics, ends func() bool) *doorkeeper {
	rate, concurrency := s.Rate, s.Concurrency
	if rate == 0 {
		rate = config.DefaultGatewayRate
	}
	if concurrency == 0 {
		concurrency = config.DefaultGatewayConcurrency
	}
	return &doorkeeper{
		key: digest(s.Key), locked: s.Key.Reveal() == "", hosts: gate.NewHosts(s.Host, config.IsLoopback(s.Host), s.Hosts...), origins: s.Origins,
		rate:   gate.NewSharedRate(rate),
		places: gate.NewPlaces(concurrency), metrics: metrics, ends: ends,
	}
}

func digest(key config.Secret) [sha256.Size]byte { return sha256.Sum256([]byte(key.Reveal())) }

// healthPath is the one that needs no key.
const healthPath = "/health"

// guard puts the gate before a handler.
func (k *doorkeeper) guard(inner http.Handler) http.Handler {
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.pass(w, r, inner) })
	if k.metrics == nil {
		return guarded
	}
	return k.metrics.Counted(guarded)
}

func (k *doorkeeper) pass(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	shown := k.opens(r)
	if shown {
		gate.Trust(r)
	} else {
		h.Set("Connection", "close") // only who has the key may keep a connection without a request
	}
	if p := k.foreign(w, r); p != nil {
		refuse(w, r, p)
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		k.preflight(w)
		return
	}
	if r.URL.Path == healthPath {
		inner.ServeHTTP(w, r)
		return
	}
	if !shown {
		h.Set("WWW-Authenticate", "Bearer")
		refuse(w, r, api.Problem(client.CodeUnauthorized, k.refusal()))
		return
	}
	if k.ends() {
		refuse(w, r, api.Problem(client.CodeDraining, "the gateway is ending: ask again in a moment"))
		return
	}
	if wait := k.rate.Take(struct{}{}); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		refuse(w, r, api.Problem(client.CodeTooMany, "too many requests a second with this key: wait, or raise API_SERVER_RATE"))
		return
	}
	if !k.places.Take() {
		refuse(w, r, api.Problem(client.CodeOverloaded, "too many requests at a time: wait until some have ended, or raise API_SERVER_CONCURRENCY"))
		return
	}
	defer k.places.Give()
	inner.ServeHTTP(w, r)
}

// refuse answers with a problem, and waits for nothing more of the request: the server would read what is left of a body,
// before it answers or before it closes, and a body may take its time.
func refuse(w http.ResponseWriter, r *http.Request, p *client.Problem) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	api.Refuse(w, p)
}

// foreign refuses what came by a name that is not this gateway's, or from a page of somebody else's: a browser says
// both, whoever wrote the page.
func (k *doorkeeper) foreign(w http.ResponseWriter, r *http.Request) *client.Problem {
	// A browser always says by which name it asks. What is too old to do so may look whether the gateway is there.
	nameless := r.Host == "" && r.URL.Path == healthPath
	if !nameless && !k.hosts.Allow(r.Host) {
		return api.Problem(client.CodeForeignHost, "this gateway is not asked for by that name; add the name to API_SERVER_HOSTS if it is its own")
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	w.Header().Add("Vary", "Origin")
	if len(origins) > 1 || !slices.ContainsFunc(k.origins, func(o string) bool { return sameOrigin(o, origins[0]) }) {
		return api.Problem(client.CodeForeignOrigin, "a page of another origin made this request; add the origin to API_SERVER_ORIGINS if it may")
	}
	w.Header().Set("Access-Control-Allow-Origin", origins[0])
	return nil
}

func sameOrigin(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && y.Host != "" && strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Host, y.Host)
}

// preflight answers the browser of a page that may ask.
func (k *doorkeeper) preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, PATCH, HEAD")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// opens says whether a request has the key. Digests are compared, so that neither the key's letters nor its length
// can be told from how long that takes.
func (k *doorkeeper) opens(r *http.Request) bool {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(key)))
	return subtle.ConstantTimeCompare(given[:], k.key[:]) == 1 && strings.EqualFold(scheme, "Bearer") && !k.locked
}

func (k *doorkeeper) refusal() string {
	if k.locked {
		return "this gateway has no key, so nothing opens it: set API_SERVER_KEY and start it again"
	}
	return "give the key of this gateway: Authorization: Bearer API_SERVER_KEY"
}
