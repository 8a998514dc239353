package access

import (
	"net/http"
	"net/url"
	"strings"
)

// failure is why somebody was not let in: for programs a status and a sentence, for the page of the login a word, by
// which it finds the sentence.
type failure struct {
	status     int
	word, says string
}

func (f failure) Error() string { return f.says }

var (
	wrongPassword = failure{http.StatusUnauthorized, "wrong", "this name or password is wrong"}
	tooManyTries  = failure{http.StatusTooManyRequests, "wait", "too many tries; wait a little"}
	notChecked    = failure{http.StatusServiceUnavailable, "busy", "the password could not be checked; try again"}
	noPasswords   = failure{http.StatusNotFound, "none", "nobody logs in with a password here"}
	usedTicket    = failure{http.StatusUnauthorized, "once", "this address does not work, or not any more; \"hermes dashboard url\" prints another one"}
	noIssuer      = failure{http.StatusNotFound, "unknown", "there is no such provider"}
	noAnswer      = failure{http.StatusBadGateway, "unreachable", "who knows your account does not answer as it should; try again, or look into the dashboard's log"}
	stale         = failure{http.StatusBadRequest, "stale", "this login took too long, or was begun in another browser; log in again"}
	denied        = failure{http.StatusForbidden, "denied", "who knows your account did not let you in"}
	disbelieved   = failure{http.StatusForbidden, "disbelieved", "what was said about your account could not be believed; log in again, or look into the dashboard's log"}
	stranger      = failure{http.StatusForbidden, "stranger", "this account may not come in here; the dashboard's log has it, for who runs it to allow"}
)

// failures are those that the page of the login is told in words.
var failures = []failure{wrongPassword, tooManyTries, notChecked, noPasswords, usedTicket, noIssuer, noAnswer, stale, denied, disbelieved, stranger}

// sentence is what a word of ours means; none for any other, so that nobody can put words of theirs onto our page.
func sentence(word string) string {
	for _, f := range failures {
		if f.word == word {
			return f.says
		}
	}
	return ""
}

// turnAway tells a program why it is not let in, and sends a person to the page that does.
func turnAway(w http.ResponseWriter, r *http.Request, f failure) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refuse(w, f.status, f.says)
		return
	}
	http.Redirect(w, r, loginPath+"?"+url.Values{"error": {f.word}}.Encode(), http.StatusSeeOther)
}
