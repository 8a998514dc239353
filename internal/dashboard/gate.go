package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"hermes.example/hermes/internal/version"
)

// Where things are.
const (
	loginPath    = "/login"
	passwordPath = "/auth/password-login"
	logoutPath   = "/auth/logout"
	refreshPath  = "/auth/refresh"
	oncePath     = "/auth/once"
	oauthPath    = "/auth/login"
)

// public is what is answered without a session. Everything else is not, whether it exists or not.
var public = map[string]bool{
	"/health": true, "/api/status": true, "/api/auth/providers": true,
	loginPath: true, passwordPath: true, logoutPath: true, refreshPath: true, oncePath: true, oauthPath: true,
}

// headers are those of every answer. No page of ours is shown in another's, and nothing is kept.
var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// Handler is the whole dashboard, behind its gate.
func (d *Dashboard) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", d.health)
	mux.HandleFunc("GET /api/status", d.status)
	mux.HandleFunc("GET /api/auth/providers", d.providers)
	mux.HandleFunc("GET /api/auth/me", d.me)
	mux.HandleFunc("GET "+loginPath, d.loginPage)
	mux.HandleFunc("POST "+passwordPath, d.passwordLogin)
	mux.HandleFunc("POST "+logoutPath, d.logout)
	mux.HandleFunc("POST "+refreshPath, d.refresh)
	mux.HandleFunc("GET "+oncePath, d.useTicket)
	mux.HandleFunc(oauthPath, d.oauthLogin)
	mux.HandleFunc("GET /{$}", d.page)
	return d.gate(mux)
}

type contextKey struct{}

// guest is what the gate found out about a request: where it came from, and who makes it, if that is known.
type guest struct {
	caller
	session *session
}

func guestOf(r *http.Request) guest { return r.Context().Value(contextKey{}).(guest) }

// gate lets through what is public and what has a session, and neither if it came by another name or from another's page.
func (d *Dashboard) gate(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		g := guest{caller: d.proxies.caller(r)}
		if !d.hosts.Allow(r.Host) {
			refuse(w, http.StatusBadRequest, "this dashboard is not asked for by that name; open it as localhost, or set HERMES_DASHBOARD_PUBLIC_URL to how people reach it")
			return
		}
		if foreign(r, g.host) {
			refuse(w, http.StatusForbidden, "another page made this request")
			return
		}
		for _, cookie := range r.CookiesNamed(accessCookie) { // another port of this host may have set one too
			if s, err := d.signer.open(access, cookie.Value); err == nil {
				g.session = &s
			}
		}
		switch {
		case g.session != nil || public[r.URL.Path]:
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, g)))
		case r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api"):
			http.Redirect(w, r, loginPath, http.StatusSeeOther)
		default:
			refuse(w, http.StatusUnauthorized, "log in first")
		}
	})
}

func (d *Dashboard) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"status": "ok"})
}

// status is the same for everybody, but for what helps an attacker.
func (d *Dashboard) status(w http.ResponseWriter, r *http.Request) {
	status := map[string]any{"status": "ok", "auth_required": true, "authenticated": guestOf(r).session != nil}
	if guestOf(r).session != nil {
		status["version"] = version.Current().Version
	}
	answer(w, http.StatusOK, status)
}

func (d *Dashboard) page(w http.ResponseWriter, r *http.Request) {
	text(w, "Hermes. You are logged in as "+guestOf(r).session.User+". There are no pages yet; /api/status says how things are.")
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]any{"error": why})
}

func text(w http.ResponseWriter, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(line + "\n"))
}
