package access

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// tickets let in whoever was handed one: each opens the door once. Only the newest count, so that a program that asks
// for ever more of them fills nothing.
type tickets struct {
	mu    sync.Mutex
	valid [][sha256.Size]byte // digests, oldest first
}

const mostTickets = 16

// issue makes a ticket.
func (t *tickets) issue() (token string) {
	token = encoding.EncodeToString(random(keySize))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.valid = append(t.valid, sha256.Sum256([]byte(token))); len(t.valid) > mostTickets {
		t.valid = slices.Delete(t.valid, 0, 1)
	}
	return token
}

// use says whether a token is a ticket that nobody has used, and uses it. What is compared is a digest: how long that
// takes tells nothing about the token.
func (t *tickets) use(token string) bool {
	given := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.valid, given)
	if i < 0 {
		return false
	}
	t.valid = slices.Delete(t.valid, i, i+1)
	return true
}
