// Package feature is the list of what may be installed, and of nothing else. The list is part of
// the program: no file, setting or caller can add to it.
package feature

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Feature is an opt-in backend. Nobody changes one: all callers share them.
type Feature struct {
	Name      string   `json:"name"`      // "search.firecrawl"
	For       string   `json:"for"`       // one line for people
	Ecosystem string   `json:"ecosystem"` // "python" or "node"
	Specs     []string `json:"specs"`     // the first one is the anchor
	// Probes are modules whose import shows that it works, without a library of the system that
	// only some hosts have.
	Probes []string `json:"probes"`
	// Entry is how its process is started, as KIND:WHAT. "adapter:firecrawl" is an adapter of the sealed host,
	// "module:mcp_server_git" a module of Python that is a server of tools itself, "node:pkg/dist/index.js" a file
	// below its node_modules. Empty: it is a library that others use, and has no tools.
	Entry string `json:"entry,omitempty"`
	// Args follow the entry, and Env is added to what every backend has. In both, {data} is the feature's own durable
	// directory and {workspace} the home's.
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
	// Credentials are the variables with secrets, and Settings those without, that its process is given where somebody
	// has set them. It is given no others.
	Credentials []string `json:"credentials,omitempty"`
	Settings    []string `json:"settings,omitempty"`
	// Unsupported are operating systems, as Go names them, on which it cannot be.
	Unsupported []string `json:"unsupported,omitempty"`
}

// Node says whether npm brings it.
func (f Feature) Node() bool { return f.Ecosystem == "node" }

// NodeEntry is the file below its node_modules that its process is started from, if it is one of npm's.
func (f Feature) NodeEntry() (file string, ok bool) { return strings.CutPrefix(f.Entry, "node:") }

// Supports says whether it can be on an operating system, as Go names it.
func (f Feature) Supports(system string) bool { return !slices.Contains(f.Unsupported, system) }

// Namespace is what kind of backend it is: the first word of its name.
func (f Feature) Namespace() string {
	namespace, _, _ := strings.Cut(f.Name, ".")
	return namespace
}

// Given are the variables that it declares, with the values that they have; an empty one is none.
func (f Feature) Given(value func(name string) string) map[string]string {
	given := make(map[string]string)
	for _, name := range slices.Concat(f.Credentials, f.Settings) {
		if v := value(name); v != "" {
			given[name] = v
		}
	}
	return given
}

//go:embed features.json
var embedded []byte

// version is that of the list's format.
const version = 1

type list struct {
	Version  int       `json:"version"`
	Features []Feature `json:"features"`
}

// load reads the embedded list when somebody first needs it. A test reads it too, so that a list
// that cannot be read is never built.
var load = sync.OnceValue(func() []Feature {
	var l list
	if err := json.Unmarshal(embedded, &l); err != nil {
		panic("feature: cannot read the embedded list: " + err.Error())
	}
	return l.Features
})

// All are the features, sorted by name.
func All() []Feature { return slices.Clone(load()) }

// Find is a feature by its exact name.
func Find(name string) (Feature, bool) {
	i, found := slices.BinarySearchFunc(load(), name, func(f Feature, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return Feature{}, false
	}
	return load()[i], true
}
