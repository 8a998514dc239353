package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

// kind is what a session can be used for. One of a kind is never taken for the other.
type kind string

const (
	access  kind = "access"  // opens the dashboard
	refresh kind = "refresh" // gets a new one that does
	login   kind = "login"   // is none yet
)

// loginSize is how many random bytes tell one login from another.
const loginSize = 16

// refreshTTL is how long somebody stays logged in who comes back.
const refreshTTL = 30 * 24 * time.Hour

// session is who is logged in and until when. It is kept by the browser alone, signed: there is no list of them here,
// and none can be called back before its time, but all end when the key changes.
type session struct {
	Kind kind `json:"kind"`
	// Login is which one it came from: a session that was renewed has that of the one before.
	Login   string `json:"login"`
	User    string `json:"user"`
	Expires int64  `json:"expires"` // seconds since 1970
}

// signer makes sessions and tells those that it made from all others.
type signer struct {
	key []byte
	now func() time.Time
}

// encoding is strict, so that a session can be written in one way only.
var encoding = base64.RawURLEncoding.Strict()

// longest is far above any session.
const longest = 4 << 10

// issue makes a session of a kind, of a login and its user.
func (s signer) issue(k kind, of session, ttl time.Duration) (string, session) {
	made := session{Kind: k, Login: of.Login, User: of.User, Expires: s.now().Add(ttl).Unix()}
	return s.seal(made), made
}

// seal writes down what only we can have written.
func (s signer) seal(made any) string {
	payload, _ := json.Marshal(made) // strings and numbers always have some
	return encoding.EncodeToString(append(payload, s.sign(payload)...))
}

var errSession = errors.New("this is no session of this kind, or its time is over")

// open returns a session that this signer made, of this kind, whose time is not over. All others are the same error:
// nobody learns what was wrong.
func (s signer) open(k kind, text string) (session, error) {
	payload, err := s.unseal(text)
	if err != nil {
		return session{}, err
	}
	var found session
	if json.Unmarshal(payload, &found) != nil || found.Kind != k || s.now().Unix() >= found.Expires {
		return session{}, errSession
	}
	return found, nil
}

func (s signer) unseal(text string) ([]byte, error) {
	if len(text) > longest {
		return nil, errSession
	}
	data, err := encoding.DecodeString(text)
	if err != nil || len(data) <= sha256.Size {
		return nil, errSession
	}
	payload, mac := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if !hmac.Equal(mac, s.sign(payload)) {
		return nil, errSession
	}
	return payload, nil
}

func (s signer) sign(payload []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(payload)
	return mac.Sum(nil)
}

// leastSecret is how many bytes a secret must have.
const leastSecret = 16

// decodeSecret reads a secret as base64, else as hexadecimal digits, else as the text that it is.
func decodeSecret(text string) ([]byte, error) {
	for _, decode := range []func(string) ([]byte, error){
		base64.StdEncoding.DecodeString, base64.URLEncoding.DecodeString, hex.DecodeString,
	} {
		if secret, err := decode(text); err == nil && len(secret) >= leastSecret {
			return secret, nil
		}
	}
	if len(text) < leastSecret {
		return nil, errors.New("its secret is shorter than 16 bytes")
	}
	return []byte(text), nil
}

// sessionKey makes the key of a signer from a secret and from who can log in with what, so that another password ends
// the sessions of the old one.
func sessionKey(secret []byte, user, credential string) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range []string{"hermes dashboard session", user, credential} {
		sum := sha256.Sum256([]byte(part))
		mac.Write(sum[:])
	}
	return mac.Sum(nil)
}
