package install

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secrets are the values that may be in a child's environment, because an index asks for them, but neither in an error
// nor in a log.
type secrets struct {
	values []string
}

// login is the part of an address before the host.
var login = regexp.MustCompile(`://[^/\s"'<>]*@`)

const hidden = "***"

// learn finds the secrets of an environment: logins and queries of addresses, and what uv and npm have by name.
func (s *secrets) learn(env environment) {
	for name, value := range env {
		if isIndexLogin(name) || isNPMLogin(name) {
			s.add(value)
		}
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }) {
			u, err := url.Parse(address(word))
			if err != nil || u.Host == "" {
				continue
			}
			if password, ok := u.User.Password(); ok {
				s.add(password)
				s.add(url.QueryEscape(password))
				s.add(url.PathEscape(password))
			} else {
				s.add(u.User.Username()) // a token alone
			}
			s.add(u.RawQuery)
		}
	}
	// The longest first, so that none leaves the rest of another.
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
}

// add takes what is long enough not to be an ordinary word's part; the shorter are still hidden where they are a login.
func (s *secrets) add(value string) {
	if len(value) >= 4 && !slices.Contains(s.values, value) {
		s.values = append(s.values, value)
	}
}

// hide takes the secrets out of a text.
func (s *secrets) hide(text string) string {
	text = login.ReplaceAllString(text, "://"+hidden+"@")
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}
