package install

import (
	"strings"

	"hermes.example/hermes/internal/addon/lastwords"
)

// learn finds the secrets of an environment: logins and queries of addresses, and the passwords that uv has by name.
func learn(s *lastwords.Secrets, env environment) {
	for name, value := range env {
		if isIndexLogin(name) {
			s.Value(value)
		}
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }) {
			s.Address(address(word))
		}
	}
}
