package docker

import (
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"

	"hermes.example/hermes/internal/image/login"
)

// registryAuth is the caller's login at an image's registry, as the daemon wants it; empty
// if there is none. The daemon may be another user's, or on another machine.
func (e *Engine) registryAuth(image string) string {
	l, err := login.For(image)
	if err != nil {
		e.log.Warn("the registry is asked without a login", "reason", err) // public images need none
	}
	if err != nil || l.IsNobody() {
		return ""
	}
	encoded, err := authconfig.Encode(registry.AuthConfig{
		Username: l.Username, Password: l.Password, IdentityToken: l.IdentityToken, RegistryToken: l.RegistryToken, ServerAddress: l.Registry,
	})
	if err != nil {
		return ""
	}
	return encoded
}
