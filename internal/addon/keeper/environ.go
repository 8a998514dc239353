package keeper

import (
	"slices"
	"strings"
)

// handed are the variables that a keeper has: what finds the home, the store and the runtime, and what every backend
// may see. No secret of a backend is among them; those come with each call.
var handed = []string{
	"HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
	"HERMES_HOME", "HERMES_RUNTIME", "HERMES_LAZY_INSTALL_TARGET", "HERMES_DISABLE_LAZY_INSTALLS", "HERMES_MANAGED", "TERMINAL_SANDBOX_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
}

// Environ is what a keeper gets of a caller's environment, in an order that is always the same. An empty variable is
// one that is not set.
func Environ(environ []string) (kept []string) {
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); value != "" && slices.Contains(handed, name) {
			kept = append(kept, variable)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}
