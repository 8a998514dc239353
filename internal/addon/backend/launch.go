package backend

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// Passed are the variables of ours that every backend has: how to reach the network, and what the time is. It is a list
// of what may and not of what may not: nobody can name all the variables that hold a secret.
var Passed = []string{
	"PATH", "LANG", "LC_ALL", "TZ",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// generationVariable tells a sealed interpreter, and those that it starts, which generation is theirs.
const generationVariable = "HERMES_ADDON_GENERATION"

// launch says how a feature's process is started: as the list has it, with what is held, in a directory of its own that
// lasts. Of the variables that were given it gets those that the feature declares.
func (p *Pool) launch(f feature.Feature, held *addon.Held, given map[string]string) (Launch, error) {
	data := filepath.Join(p.o.Home, "addons", f.Name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return Launch{}, fmt.Errorf("cannot make its directory: %w", err)
	}
	workspace := filepath.Join(p.o.Home, "workspace")
	if mentions(f, "{workspace}") {
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return Launch{}, fmt.Errorf("cannot make the workspace: %w", err)
		}
	}
	fill := strings.NewReplacer("{data}", data, "{workspace}", workspace)
	env := map[string]string{"HOME": data, "LANG": "C.UTF-8", config.LazyInstallTarget: os.DevNull}
	for _, variable := range p.o.Addons.Environ {
		if name, value, _ := strings.Cut(variable, "="); value != "" && slices.Contains(Passed, name) {
			env[name] = value
		}
	}
	if held.Generation.Digest != "" {
		env[config.LazyInstallTarget], env[generationVariable] = held.Target, held.Generation.Digest
	}
	for name, value := range f.Env {
		env[name] = fill.Replace(value)
	}
	maps.Copy(env, given)
	argv, err := program(f, held, env["PATH"])
	for _, arg := range f.Args {
		argv = append(argv, fill.Replace(arg))
	}
	return Launch{Feature: f.Name, Argv: argv, Dir: data, Env: env, Secrets: f.Credentials, Bounds: p.o.Bounds}, err
}

// mentions says whether a feature is told of a place.
func mentions(f feature.Feature, place string) bool {
	for _, text := range slices.Concat(f.Args, slices.Collect(maps.Values(f.Env))) {
		if strings.Contains(text, place) {
			return true
		}
	}
	return false
}

// program is what is started, without the feature's arguments. The sealed interpreter leaves no bytecode behind: as root
// it could.
func program(f feature.Feature, held *addon.Held, path string) ([]string, error) {
	kind, what, _ := strings.Cut(f.Entry, ":")
	switch kind {
	case "adapter", "module":
		return []string{held.Python, "-I", "-B", "-m", "hermes_host", kind, what}, nil
	case "node":
		node := npm.Program(path, "node") // where the backend itself would look
		if node == "" {
			return nil, unavailable.NoNode()
		}
		return []string{node, filepath.Join(held.Generation.Node(f.Name), filepath.FromSlash(what))}, nil
	}
	return nil, fmt.Errorf("nobody knows how to start %q", f.Entry)
}
