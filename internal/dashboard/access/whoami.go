package access

import (
	"net/http"

	"hermes.example/hermes/internal/version"
)

func (a *Access) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"status": "ok"})
}

// status is the same for everybody, but for what helps an attacker.
func (a *Access) status(w http.ResponseWriter, r *http.Request) {
	status := map[string]any{"status": "ok", "auth_required": true, "authenticated": guestOf(r).session != nil}
	if guestOf(r).session != nil {
		status["version"] = version.Current().Version
	}
	answer(w, http.StatusOK, status)
}

func (a *Access) me(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, a.described(*guestOf(r).session))
}

// described is what a page is told of its session: whose it is, until when, and the mark of its changes.
func (a *Access) described(s session) map[string]any {
	return map[string]any{"user": s.User, "expires": s.Expires, "csrf": a.signer.mark(s)}
}

// letIn gives a browser its sessions: one, and one that renews it where nobody else need be asked again.
func (a *Access) letIn(w http.ResponseWriter, g guest, user string, renewable bool) map[string]any {
	s := session{Login: encoding.EncodeToString(random(loginSize)), User: user}
	if renewable {
		later, _ := a.signer.issue(refresh, s, refreshTTL)
		refreshCookie.set(w, g, later, refreshTTL)
	}
	return a.renew(w, g, s)
}

func (a *Access) renew(w http.ResponseWriter, g guest, s session) map[string]any {
	now, issued := a.signer.issue(access, s, a.ttl)
	accessCookie.set(w, g, now, a.ttl)
	return a.described(issued)
}

func (a *Access) refresh(w http.ResponseWriter, r *http.Request) {
	g := guestOf(r)
	sent := r.CookiesNamed(refreshCookie.name(g.caller))
	for _, c := range sent {
		if s, err := a.signer.open(refresh, c.Value); err == nil {
			answer(w, http.StatusOK, a.renew(w, g, s))
			return
		}
	}
	if len(sent) == 0 {
		refuse(w, http.StatusUnauthorized, "log in first")
		return
	}
	refuse(w, http.StatusUnauthorized, "log in again")
}

func (a *Access) logout(w http.ResponseWriter, r *http.Request) {
	for _, c := range []cookie{accessCookie, refreshCookie} {
		c.set(w, guestOf(r), "", 0)
	}
	answer(w, http.StatusOK, map[string]any{"status": "logged out"})
}
