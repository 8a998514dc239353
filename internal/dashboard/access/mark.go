package access

import (
	"crypto/hmac"
	"net/http"
)

// markHeader has the mark that a request must have which changes something. A page of ours reads it from /api/auth/me;
// no page of another's can, and none can send this header.
const markHeader = "X-CSRF-Token"

// mark is that of a login: the sessions that renew it have the same one, so that all open pages go on with theirs.
func (s signer) mark(of session) string {
	return encoding.EncodeToString(s.sign([]byte("mark of " + of.Login + " " + of.User)))
}

func (s signer) marked(of session, mark string) bool {
	return hmac.Equal([]byte(mark), []byte(s.mark(of)))
}

// changes says whether a request may change something.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}
