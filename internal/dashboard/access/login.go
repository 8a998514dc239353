package access

import (
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

func (a *Access) providers(w http.ResponseWriter, _ *http.Request) {
	known := []provider{}
	if a.basic != nil {
		known = append(known, provider{"basic", "Name and password", true, passwordPath})
	}
	for _, name := range a.oauth {
		display := map[string]string{"nous": "Nous Research", "oidc": "OpenID Connect"}[name]
		known = append(known, provider{name, display, false, oauthPath + "?provider=" + name})
	}
	answer(w, http.StatusOK, map[string]any{"providers": known})
}

// failure is why somebody was not let in: for programs a status and a sentence, for the page of the login a word.
type failure struct {
	status     int
	word, says string
}

var (
	wrongPassword = failure{http.StatusUnauthorized, "wrong", "this name or password is wrong"}
	tooManyTries  = failure{http.StatusTooManyRequests, "wait", "too many tries; wait a little"}
	notChecked    = failure{http.StatusServiceUnavailable, "busy", "the password could not be checked; try again"}
	noPasswords   = failure{http.StatusNotFound, "none", "nobody logs in with a password here"}
)

// passwordLogin is told a name and a password, as JSON by a program, which gets an answer, or by the form of a page
// without scripts, whose person is sent on.
func (a *Access) passwordLogin(w http.ResponseWriter, r *http.Request) {
	var given struct{ Username, Password string }
	r.Body = http.MaxBytesReader(w, r.Body, largestForm)
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/json":
		if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
			refuse(w, http.StatusBadRequest, "this is not a JSON object with username and password")
			return
		}
		if why := a.tryPassword(w, r, given.Username, given.Password); why != nil {
			refuse(w, why.status, why.says)
			return
		}
		answer(w, http.StatusOK, a.letIn(w, guestOf(r), a.basic.name, true))
	case "application/x-www-form-urlencoded":
		next := inside(r.PostFormValue("next"))
		if why := a.tryPassword(w, r, r.PostFormValue("username"), r.PostFormValue("password")); why != nil {
			http.Redirect(w, r, loginPath+"?"+url.Values{"error": {why.word}, "next": {next}}.Encode(), http.StatusSeeOther)
			return
		}
		a.letIn(w, guestOf(r), a.basic.name, true)
		http.Redirect(w, r, next, http.StatusSeeOther)
	default:
		refuse(w, http.StatusUnsupportedMediaType, "send username and password as JSON or as a form")
	}
}

// tryPassword says why a name and a password do not let in; nil if they do.
func (a *Access) tryPassword(w http.ResponseWriter, r *http.Request, user, password string) *failure {
	if a.basic == nil {
		return &noPasswords
	}
	g := guestOf(r)
	if wait := a.limiter.Take(network(g.address)); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return &tooManyTries
	}
	right, err := a.basic.verify(r.Context(), user, password)
	switch {
	case err != nil:
		return &notChecked
	case !right:
		a.log.Warn("a login was refused", "from", g.address)
		return &wrongPassword
	}
	a.limiter.Forgive(network(g.address))
	a.log.Info("logged in", "user", a.basic.name, "from", g.address)
	return nil
}

// useTicket lets in who has the address that was printed. What only looks, as previews do, does not use it up.
func (a *Access) useTicket(w http.ResponseWriter, r *http.Request) {
	if a.once == nil || r.Method != http.MethodGet || !a.once.use(r.URL.Query().Get("token")) {
		refuse(w, http.StatusUnauthorized, "this address does not work, or not any more; start the dashboard again for another one")
		return
	}
	a.letIn(w, guestOf(r), localUser, true)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (a *Access) oauthLogin(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("provider")
	if !slices.Contains(a.oauth, name) {
		refuse(w, http.StatusNotFound, "there is no such provider")
		return
	}
	refuse(w, http.StatusNotImplemented, fmt.Sprintf("logging in by %s is not built yet; set a name and a password (HERMES_DASHBOARD_BASIC_AUTH_USERNAME)", name))
}
