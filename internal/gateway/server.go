package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/version"
)

// door answers requests. What is about the profile needs its key; whether the gateway is well, everybody may know.
type door struct {
	key     [sha256.Size]byte
	locked  bool // there is no key: nothing opens it
	profile string
	pid     int
	started time.Time
	// state is changed by the gateway while requests are answered.
	state atomic.Value
	// restart is asked of the gateway at most once.
	restart chan struct{}
}

func newDoor(o Options, pid int, now time.Time) *door {
	d := &door{key: digest(o.Settings.Key), locked: o.Settings.Key.Reveal() == "", profile: o.Profile, pid: pid, started: now, restart: make(chan struct{}, 1)}
	d.state.Store(Starting)
	return d
}

func digest(key config.Secret) [sha256.Size]byte { return sha256.Sum256([]byte(key.Reveal())) }

func (d *door) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", d.health)
	mux.HandleFunc("GET /v1/status", d.status)
	mux.HandleFunc("POST /v1/restart", d.restarted)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != "/health" && !d.opens(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, d.refusal())
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// opens says whether a request has the key. Digests are compared, so that neither the key's letters nor its length
// can be told from how long that takes.
func (d *door) opens(r *http.Request) bool {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(key)))
	return subtle.ConstantTimeCompare(given[:], d.key[:]) == 1 && strings.EqualFold(scheme, "Bearer") && !d.locked
}

func (d *door) refusal() string {
	if d.locked {
		return "this gateway has no key, so nothing opens it: set API_SERVER_KEY and start it again"
	}
	return "give the key of this gateway: Authorization: Bearer API_SERVER_KEY"
}

func (d *door) health(w http.ResponseWriter, _ *http.Request) {
	if d.state.Load() != Running {
		answer(w, http.StatusServiceUnavailable, map[string]any{"status": d.state.Load()})
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": "ok"})
}

func (d *door) status(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"profile": d.profile,
		"state":   d.state.Load(),
		"pid":     d.pid,
		"started": d.started.UTC(),
		"version": version.Current().Version,
	})
}

func (d *door) restarted(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusAccepted, map[string]any{"status": "restarting"})
	select {
	case d.restart <- struct{}{}:
	default: // it is asked already
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]any{"error": why})
}
