package access

import (
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"net/url"
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
	// Problem is what must be set before anybody can log in by it.
	Problem string `json:"problem,omitempty"`
}

// providers lists the ways to log in. It also says what went wrong, to a page of the login that has the word for it.
func (a *Access) providers(w http.ResponseWriter, r *http.Request) {
	known := []provider{}
	if a.basic != nil {
		known = append(known, provider{"basic", "Name and password", true, passwordPath, ""})
	}
	for _, i := range a.issuers {
		known = append(known, provider{i.name, i.display, false, oauthPath + "?provider=" + i.name, i.problem})
	}
	body := map[string]any{"providers": known}
	if says := sentence(r.URL.Query().Get("error")); says != "" {
		body["error"] = says
	}
	answer(w, http.StatusOK, body)
}

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
	if wait := a.limiter.take(g.address); wait > 0 {
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
	a.limiter.forgive(g.address)
	a.log.Info("logged in", "user", a.basic.name, "from", g.address)
	return nil
}

// useTicket lets in who has the address that was printed. What only looks, as previews do, does not use it up.
func (a *Access) useTicket(w http.ResponseWriter, r *http.Request) {
	if a.once == nil || r.Method != http.MethodGet || !a.once.use(r.URL.Query().Get("token")) {
		turnAway(w, r, usedTicket)
		return
	}
	a.letIn(w, guestOf(r), localUser, true)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
