package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"
)

// ticket lets whoever sees the terminal in: its token opens the door once.
type ticket struct {
	token string

	mu   sync.Mutex
	used bool
}

func newTicket() *ticket { return &ticket{token: encoding.EncodeToString(random(keySize))} }

// use says whether a token is the ticket's, and the first one that was.
func (t *ticket) use(token string) bool {
	given, mine := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(t.token))
	if subtle.ConstantTimeCompare(given[:], mine[:]) != 1 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.used
	t.used = true
	return first
}
