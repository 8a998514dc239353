package install

import (
	"strings"

	"hermes.example/hermes/internal/addon/lastwords"
)

// learn finds the secrets of an environment: logins and queries of addresses, and what uv and npm have by name.
func learn(s *lastwords.Secrets, env environment) {
	for name, value := range env {
		if isIndexLogin(name) || isNPMLogin(name) {
			s.Value(value)
		}
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }) {
			s.Address(address(word))
		}
	}
}
