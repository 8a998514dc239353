package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The cookies that hold sessions. The one for a new session goes nowhere but where that is made.
const (
	accessCookie  = "hermes_session_at"
	refreshCookie = "hermes_session_rt"
)

// localUser is who came in by the ticket.
const localUser = "local"

// largestForm is far above a name with its password.
const largestForm = 8 << 10

type provider struct {
	Name             string `json:"name"`
	DisplayName      string `json:"display_name"`
	SupportsPassword bool   `json:"supports_password"`
	Login            string `json:"login"`
}

func (d *Dashboard) providers(w http.ResponseWriter, _ *http.Request) {
	known := []provider{}
	if d.basic != nil {
		known = append(known, provider{"basic", "Name and password", true, passwordPath})
	}
	for _, name := range d.oauth {
		display := map[string]string{"nous": "Nous Research", "oidc": "OpenID Connect"}[name]
		known = append(known, provider{name, display, false, oauthPath + "?provider=" + name})
	}
	answer(w, http.StatusOK, map[string]any{"providers": known})
}

func (d *Dashboard) me(w http.ResponseWriter, r *http.Request) {
	s := guestOf(r).session
	answer(w, http.StatusOK, map[string]any{"user": s.User, "expires": s.Expires})
}

func (d *Dashboard) loginPage(w http.ResponseWriter, _ *http.Request) {
	switch {
	case d.basic != nil:
		text(w, "Hermes. Log in: POST username and password to "+passwordPath)
	case d.once != nil:
		text(w, "Hermes. Open the address that \"hermes dashboard\" printed: it works once; start the dashboard again for another one.")
	default:
		text(w, "Hermes. Logging in by OAuth is not possible yet; set a name and a password (HERMES_DASHBOARD_BASIC_AUTH_USERNAME).")
	}
}

func (d *Dashboard) passwordLogin(w http.ResponseWriter, r *http.Request) {
	if d.basic == nil {
		refuse(w, http.StatusNotFound, "nobody logs in with a password here")
		return
	}
	var given struct{ Username, Password string }
	r.Body = http.MaxBytesReader(w, r.Body, largestForm)
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/json":
		if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
			refuse(w, http.StatusBadRequest, "this is not a JSON object with username and password")
			return
		}
	case "application/x-www-form-urlencoded":
		given.Username, given.Password = r.PostFormValue("username"), r.PostFormValue("password")
	default:
		refuse(w, http.StatusUnsupportedMediaType, "send username and password as JSON or as a form")
		return
	}
	g := guestOf(r)
	if wait := d.limiter.Take(network(g.address)); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		refuse(w, http.StatusTooManyRequests, "too many tries; wait a little")
		return
	}
	right, err := d.basic.verify(r.Context(), given.Username, given.Password)
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "the password could not be checked; try again")
	case !right:
		d.log.Warn("a login was refused", "from", g.address)
		refuse(w, http.StatusUnauthorized, "this name or password is wrong")
	default:
		d.limiter.Forgive(network(g.address))
		d.log.Info("logged in", "user", d.basic.name, "from", g.address)
		answer(w, http.StatusOK, d.letIn(w, g, d.basic.name))
	}
}

// letIn gives a browser its sessions, and says whose and until when.
func (d *Dashboard) letIn(w http.ResponseWriter, g guest, user string) map[string]any {
	later, _ := d.signer.issue(refresh, user, refreshTTL)
	d.setCookie(w, g, refreshCookie, later, refreshTTL)
	return d.renew(w, g, user)
}

func (d *Dashboard) renew(w http.ResponseWriter, g guest, user string) map[string]any {
	now, s := d.signer.issue(access, user, d.ttl)
	d.setCookie(w, g, accessCookie, now, d.ttl)
	return map[string]any{"user": s.User, "expires": s.Expires}
}

// setCookie sets a cookie, or with an empty value takes it away.
func (d *Dashboard) setCookie(w http.ResponseWriter, g guest, name, value string, ttl time.Duration) {
	cookie := http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(ttl.Seconds()), HttpOnly: true, Secure: g.https, SameSite: http.SameSiteStrictMode}
	if name == refreshCookie {
		cookie.Path = refreshPath
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, &cookie)
}

func (d *Dashboard) refresh(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(refreshCookie)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "log in first")
		return
	}
	s, err := d.signer.open(refresh, cookie.Value)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "log in again")
		return
	}
	answer(w, http.StatusOK, d.renew(w, guestOf(r), s.User))
}

func (d *Dashboard) logout(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{accessCookie, refreshCookie} {
		d.setCookie(w, guestOf(r), name, "", 0)
	}
	answer(w, http.StatusOK, map[string]any{"status": "logged out"})
}

// useTicket lets in who has the address that was printed. What only looks, as previews do, does not use it up.
func (d *Dashboard) useTicket(w http.ResponseWriter, r *http.Request) {
	if d.once == nil || r.Method != http.MethodGet || !d.once.use(r.URL.Query().Get("token")) {
		refuse(w, http.StatusUnauthorized, "this address does not work, or not any more; start the dashboard again for another one")
		return
	}
	d.letIn(w, guestOf(r), localUser)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (d *Dashboard) oauthLogin(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("provider")
	if !slices.Contains(d.oauth, name) {
		refuse(w, http.StatusNotFound, "there is no such provider")
		return
	}
	refuse(w, http.StatusNotImplemented, fmt.Sprintf("logging in by %s is not built yet; set a name and a password (HERMES_DASHBOARD_BASIC_AUTH_USERNAME)", name))
}
