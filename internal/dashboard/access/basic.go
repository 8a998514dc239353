package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/scrypt"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gate"
)

// basic is the provider of a name and a password. The password itself is not kept.
type basic struct {
	name string
	user [sha256.Size]byte
	hash hash
	// derive is scrypt's; tests count its calls.
	derive func(password, salt []byte, n, r, p, size int) ([]byte, error)
	// turns bounds how many passwords are tried at a time: each takes memory and a processor. Places bounds how many are
	// tried or wait for that: those who come when there is none are told to come again.
	turns  chan struct{}
	places gate.Places
}

// hash is what is kept of a password: scrypt's parameters and its result.
type hash struct {
	n, r, p   int
	salt, key []byte
}

// The parameters of passwords that are hashed here, and bounds for those of others: a hash comes from a file, and must
// not take all memory.
const (
	scryptN, scryptR, scryptP = 16384, 8, 1
	saltSize, keySize         = 16, 32
	mostMemory                = 256 << 20
	mostP                     = 16
	mostTries                 = 64
)

// newBasic makes the provider, and the secret that its sessions are signed with; neither where nobody set one up.
// With an error it was set up in a way that cannot work.
func newBasic(c config.BasicAuth) (*basic, []byte, error) {
	password, hashed := c.Password.Reveal(), c.PasswordHash.Reveal()
	switch {
	case c.Username == "" && password == "" && hashed == "":
		return nil, nil, nil
	case c.Username == "":
		return nil, nil, errors.New("there is a password but no name (HERMES_DASHBOARD_BASIC_AUTH_USERNAME)")
	case password == "" && hashed == "":
		return nil, nil, errors.New("there is a name but no password (HERMES_DASHBOARD_BASIC_AUTH_PASSWORD, HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE or HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH)")
	}
	secret := random(keySize)
	if text := c.Secret.Reveal(); text != "" {
		var err error
		if secret, err = decodeSecret(text); err != nil {
			return nil, nil, err
		}
	}
	b := &basic{name: c.Username, user: sha256.Sum256([]byte(c.Username)), derive: scrypt.Key, turns: make(chan struct{}, 2), places: gate.NewPlaces(mostTries)}
	var err error
	if hashed != "" {
		b.hash, err = parseHash(hashed)
	} else {
		b.hash, err = hashPassword(password)
	}
	if err != nil {
		return nil, nil, err
	}
	return b, sessionKey(secret, c.Username, password+hashed), nil
}

// random never fails: without randomness the program ends.
func random(size int) []byte {
	made := make([]byte, size)
	rand.Read(made)
	return made
}

func hashPassword(password string) (hash, error) {
	h := hash{n: scryptN, r: scryptR, p: scryptP, salt: random(saltSize)}
	key, err := scrypt.Key([]byte(password), h.salt, h.n, h.r, h.p, keySize)
	h.key = key
	return h, err
}

// parseHash reads scrypt$n$r$p$salt$key, the last two in base64. What it holds is never part of an error.
func parseHash(text string) (hash, error) {
	wrong := errors.New("its password hash is not of the form scrypt$n$r$p$salt$key, or asks for too much memory")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "scrypt" {
		return hash{}, wrong
	}
	var h hash
	for i, to := range []*int{&h.n, &h.r, &h.p} {
		n, err := strconv.Atoi(parts[1+i])
		if err != nil || n < 1 {
			return hash{}, wrong
		}
		*to = n
	}
	powerOfTwo := h.n > 1 && h.n&(h.n-1) == 0
	if !powerOfTwo || h.p > mostP || h.r > mostMemory/128 || h.n > mostMemory/(128*h.r) {
		return hash{}, wrong
	}
	for i, to := range []*[]byte{&h.salt, &h.key} {
		data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(parts[4+i], "="))
		if err != nil || len(data) < saltSize/2 || len(data) > 128 {
			return hash{}, wrong
		}
		*to = data
	}
	return h, nil
}

// verify says whether a name and a password are right. A name that nobody has costs the same as a password that is wrong.
func (b *basic) verify(ctx context.Context, user, password string) (bool, error) {
	if !b.places.Take() {
		return false, errors.New("cannot check the password: too many wait for that")
	}
	defer b.places.Give()
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	key, err := b.derive([]byte(password), b.hash.salt, b.hash.n, b.hash.r, b.hash.p, len(b.hash.key))
	if err != nil {
		return false, fmt.Errorf("cannot check the password: %w", err)
	}
	given := sha256.Sum256([]byte(user))
	sameUser := subtle.ConstantTimeCompare(given[:], b.user[:])
	return sameUser&subtle.ConstantTimeCompare(key, b.hash.key) == 1, nil
}
