package install

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lastwords"
	"hermes.example/hermes/internal/addon/lock"
)

// build makes wheels of packages that have none, and installs those. Their code runs meanwhile, with the caller's
// rights. It is the code that the lock names, it finds nothing but the tools that are locked too, in an environment that
// is gone afterwards, and no login for an index is among its variables. Only uv is asked: it keeps what it has built, so
// that the same need not be built twice, or with a network.
func (s *session) build(ctx context.Context, sources []lock.Package, into string) error {
	if s.Progress != nil {
		s.Progress(Event{Phase: Building, Total: len(sources), Size: lock.Size(sources)})
	}
	for _, uv := range s.uvs() {
		err := s.buildByUV(ctx, uv, sources, into)
		if !errors.Is(err, errVanished) {
			return err
		}
	}
	return failed("give the runtime uv", "cannot build %s from source: there is no uv", sources[0])
}

func (s *session) buildByUV(ctx context.Context, uv string, sources []lock.Package, into string) error {
	env, index, err := s.forUV(s.dir)
	if err != nil {
		return err
	}
	bench := s.path("bench")
	err = s.run(ctx, command{program: uv, env: env, timeout: s.timeout(),
		args: []string{"venv", "--no-config", "--no-project", "--color", "never", "--offline", "--python", s.Runtime.Python(), bench}})
	if err != nil {
		return s.judge("uv venv", err)
	}
	if err := errors.Join(s.write("tools.txt", lock.Requirements(s.Tools)), s.write("sources.txt", lock.Requirements(sources))); err != nil {
		return err
	}
	interpreter := []string{"--python", filepath.Join(bench, "bin", "python")}
	tools := uvInstall{uv: uv, env: env, index: index, list: "tools.txt", options: interpreter}
	if err := s.uvInstall(ctx, tools); err != nil {
		return err
	}
	// Without isolation there is nothing that uv would fetch to build with: what is missing is missing.
	options := append(interpreter, "--no-build-isolation", "--target", into)
	for _, p := range sources {
		options = append(options, "--no-binary", p.Name)
	}
	return s.uvInstall(ctx, uvInstall{uv: uv, env: env.anonymous(s.path("nobody")), index: index, list: "sources.txt", options: options})
}

// keys are the variables that lead to a login.
var keys = []string{"NETRC", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "UV_CREDENTIALS_DIR", "UV_KEYRING_PROVIDER", "SSL_CLIENT_CERT"}

// query is what may hold a token in an address.
var query = regexp.MustCompile(`(://[^\s,?#]*)\?[^\s,#]*`)

// anonymous is the environment for code of which nobody knows what it does: with the addresses of indexes and proxies,
// and without logins for them. An index that wants one cannot be built from; a directory of sources can.
func (e environment) anonymous(home string) environment {
	rest := maps.Clone(e)
	maps.DeleteFunc(rest, func(name, _ string) bool { return isIndexLogin(name) || slices.Contains(keys, name) })
	for name, value := range rest {
		if strings.Contains(value, "://") {
			rest[name] = query.ReplaceAllString(lastwords.WithoutLogins(value), "$1")
		}
	}
	rest["HOME"] = home
	return rest
}
