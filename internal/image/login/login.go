// Package login reads what "docker login" or "podman login" has stored for a registry.
//
// Engines call it that have somebody else fetch an image. What it returns is secret: it
// must never be printed, logged, or part of an error.
package login

import (
	"errors"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Login is how somebody is known at a registry. Most have a name and a password, or one
// of the tokens.
type Login struct {
	Registry                     string
	Username, Password           string
	IdentityToken, RegistryToken string
}

// String keeps a login out of what is formatted by mistake.
func (l Login) String() string { return "login at " + l.Registry }

// For finds the login for an image's registry. Without one, only the registry is set.
func For(image string) (Login, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return Login{}, err
	}
	l := Login{Registry: ref.Context().RegistryStr()}
	known, err := authn.DefaultKeychain.Resolve(ref.Context())
	var config *authn.AuthConfig
	if err == nil {
		config, err = known.Authorization()
	}
	if err != nil {
		// It may hold what a program printed that keeps passwords.
		return l, errors.New("the login for " + l.Registry + " cannot be read")
	}
	l.Username, l.Password = config.Username, config.Password
	l.IdentityToken, l.RegistryToken = config.IdentityToken, config.RegistryToken
	return l, nil
}

// IsNobody says whether there is none.
func (l Login) IsNobody() bool { return l == Login{Registry: l.Registry} }
