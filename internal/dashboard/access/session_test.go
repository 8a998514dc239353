package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// clock is one that a test turns.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Unix(1_900_000_000, 0)} }

func (c *clock) now() time.Time { return c.at }

// of is a login of a user.
func of(user string) session { return session{Login: "a login", User: user} }

func TestOnlyOurSessionsOpen(t *testing.T) {
	c := newClock()
	s := signer{[]byte("a key of this process"), c.now}
	token, _ := s.issue(access, of("me"), time.Hour)
	if got, err := s.open(access, token); err != nil || got.User != "me" {
		t.Fatalf("%+v, %v", got, err)
	}
	data, _ := encoding.DecodeString(token)
	payload := data[:len(data)-sha256.Size]
	forged := func(change func([]byte) []byte) string { return encoding.EncodeToString(change(bytes.Clone(data))) }
	other := signer{[]byte("the key of another"), c.now}
	theirs, _ := other.issue(access, of("me"), time.Hour)
	later, _ := s.issue(refresh, of("me"), time.Hour)
	unsigned := bytes.Replace(payload, []byte("me"), []byte("root"), 1)
	for name, text := range map[string]string{
		"nothing":            "",
		"no text":            "%%%",
		"a signature alone":  encoding.EncodeToString(data[len(payload):]),
		"no signature":       encoding.EncodeToString(payload),
		"an empty one":       encoding.EncodeToString(append(bytes.Clone(payload), make([]byte, sha256.Size)...)),
		"another user":       encoding.EncodeToString(append(unsigned, data[len(payload):]...)),
		"a bit of the text":  forged(func(b []byte) []byte { b[3] ^= 1; return b }),
		"a bit of the sign":  forged(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }),
		"one byte more":      forged(func(b []byte) []byte { return append(b, 0) }),
		"one byte less":      forged(func(b []byte) []byte { return b[:len(b)-1] }),
		"padding":            token + "=",
		"the other alphabet": base64.StdEncoding.EncodeToString(data) + "\n",
		"another key":        theirs,
		"another kind":       later,
		"endless":            strings.Repeat("A", 1<<20),
	} {
		if got, err := s.open(access, text); err == nil {
			t.Errorf("%s opens: %+v", name, got)
		}
	}
	for _, user := range []string{"m", "me", "mee"} { // one of them leaves bits over in the last letter
		token, _ := s.issue(access, of(user), time.Hour)
		if again := token[:len(token)-1] + string(token[len(token)-1]+1); again != token {
			if _, err := s.open(access, again); err == nil {
				t.Error("one session can be written in two ways")
			}
		}
	}
	if _, err := s.open(refresh, token); err == nil {
		t.Error("what opens the door also renews itself")
	}
	if _, err := s.open(refresh, later); err != nil {
		t.Error(err)
	}
	c.at = c.at.Add(time.Hour - time.Second)
	if _, err := s.open(access, token); err != nil {
		t.Error("it ended too early")
	}
	c.at = c.at.Add(time.Second)
	if _, err := s.open(access, token); err == nil {
		t.Error("it does not end")
	}
}

func TestSecretsInAllTheirForms(t *testing.T) {
	odd := []byte("\xff\xfe seventeen byte")
	for name, test := range map[string]struct{ text, want string }{
		"base64":                   {base64.StdEncoding.EncodeToString(odd), string(odd)},
		"base64 for URLs":          {base64.URLEncoding.EncodeToString(odd), string(odd)},
		"hexadecimal":              {hex.EncodeToString(odd), string(odd)},
		"text":                     {"a long text, with spaces", "a long text, with spaces"},
		"text that could be short": {"c2l4dGVlbiBieXRl", "c2l4dGVlbiBieXRl"}, // decoded it would be too short
	} {
		if got, err := decodeSecret(test.text); err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, short := range []string{"short", "fifteen bytes..", "c2hvcnQ="} {
		if _, err := decodeSecret(short); err == nil {
			t.Errorf("%q was taken", short)
		}
	}
}

func TestAnotherPasswordEndsSessions(t *testing.T) {
	secret := []byte("the same secret as before")
	key := sessionKey(secret, "me", "old")
	for name, other := range map[string][]byte{
		"password": sessionKey(secret, "me", "new"), "user": sessionKey(secret, "you", "old"),
		"boundary": sessionKey(secret, "meo", "ld"), "secret": sessionKey([]byte("another secret"), "me", "old"),
	} {
		if bytes.Equal(key, other) {
			t.Errorf("another %s makes the same key", name)
		}
	}
	if !bytes.Equal(key, sessionKey(secret, "me", "old")) {
		t.Error("the same makes another key: sessions would not survive a restart")
	}
}

// Nothing that was not issued opens, and nothing makes the parser fail in another way.
func FuzzSession(f *testing.F) {
	s := signer{[]byte("a key that nobody has"), newClock().now}
	good, _ := s.issue(access, of("me"), time.Hour)
	for _, seed := range []string{good, "", "AAAA", good[:len(good)-1], strings.ToLower(good)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.open(access, text); (err == nil) != (text == good) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
