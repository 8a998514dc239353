// Package lastwords is what may be repeated of what a program said: the end of it, without secrets. Whoever starts the
// programs of others for add-ons uses it, the installer and the backends.
package lastwords

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Secrets are the values that may be in a child's environment, because it needs them, but neither in an error nor in a
// log. The zero value knows none. It is not safe for concurrent use while it learns.
type Secrets struct {
	values []string
}

// login is the part of an address before the host.
var login = regexp.MustCompile(`://[^/\s"'<>]*@`)

const hidden = "***"

// Value makes a value a secret, as it is and as it would be written in an address or in JSON. One of several lines, like
// a key in a file, is as secret line by line.
func (s *Secrets) Value(value string) {
	for _, line := range strings.Split(value, "\n") {
		s.add(strings.TrimSpace(line))
	}
	s.add(value)
	s.add(url.QueryEscape(value))
	s.add(url.PathEscape(value))
	if quoted, err := json.Marshal(value); err == nil {
		s.add(string(quoted[1 : len(quoted)-1]))
	}
}

// Address makes a secret of what is one in an address: the password, or a login that is a token alone, and the query.
// What is no address has none.
func (s *Secrets) Address(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.add(password)
		s.add(url.QueryEscape(password))
		s.add(url.PathEscape(password))
	} else {
		s.add(u.User.Username())
	}
	s.add(u.RawQuery)
}

// add takes what is long enough not to be an ordinary word's part; the shorter are still hidden where they are a login.
// The longest come first, so that none leaves the rest of another.
func (s *Secrets) add(value string) {
	if len(value) < 4 || slices.Contains(s.values, value) {
		return
	}
	s.values = append(s.values, value)
	slices.SortStableFunc(s.values, func(a, b string) int { return len(b) - len(a) })
}

// Hide takes the secrets out of a text.
func (s *Secrets) Hide(text string) string {
	text = login.ReplaceAllString(text, "://"+hidden+"@")
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// WithoutLogins takes the logins out of the addresses in a text. What is left of the addresses can be used.
func WithoutLogins(text string) string { return login.ReplaceAllString(text, "://") }
