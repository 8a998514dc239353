package install

import (
	"encoding/json"
	"fmt"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
)

// npmLock is the part of a package-lock.json that says what is to be where. It has no addresses: where packages come from
// is the operator's to say.
type npmLock struct {
	LockfileVersion int                `json:"lockfileVersion"`
	Packages        map[string]npmNode `json:"packages"`
}

type npmNode struct {
	Version      string            `json:"version,omitempty"`
	Integrity    string            `json:"integrity,omitempty"`
	Dependencies map[string]string `json:"dependencies,omitempty"`
	OptionalDeps map[string]string `json:"optionalDependencies,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Optional     bool              `json:"optional,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Libc         []string          `json:"libc,omitempty"`

	// What only npm's own locks have.
	Name             string            `json:"name,omitempty"`
	Resolved         string            `json:"resolved,omitempty"`
	PeerDependencies map[string]string `json:"peerDependencies,omitempty"`
	HasInstallScript bool              `json:"hasInstallScript,omitempty"`
	Link             bool              `json:"link,omitempty"`
	InBundle         bool              `json:"inBundle,omitempty"`
}

const below = "node_modules/"

// forNPM are the two files that `npm ci` works from: what is wanted, and where each package lies. Every package requires
// exactly what lies where it looks, so that npm has nothing to choose.
func forNPM(t lock.Tree, specs []string) (wanted, locked []byte, err error) {
	root := npmNode{Dependencies: make(map[string]string)}
	for _, text := range specs {
		spec, err := npm.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		root.Dependencies[spec.Name] = spec.Version
	}
	all := npmLock{LockfileVersion: 3, Packages: map[string]npmNode{"": root}}
	for _, n := range t.Packages {
		node := npmNode{
			Version: n.Version, Integrity: n.Integrity, Optional: n.Optional, OS: n.OS, CPU: n.CPU, Libc: n.Libc,
			Dependencies: make(map[string]string), OptionalDeps: make(map[string]string),
		}
		if n.Engine != "" {
			node.Engines = map[string]string{"node": n.Engine}
		}
		for _, name := range n.Requires {
			found := t.Found(n.Path, name)
			if found == nil {
				return nil, nil, fmt.Errorf("%s requires %s, which is not there", n, name)
			}
			if found.Optional {
				node.OptionalDeps[name] = found.Version
			} else {
				node.Dependencies[name] = found.Version
			}
		}
		all.Packages[below+n.Path] = node
	}
	if locked, err = json.Marshal(all); err != nil {
		return nil, nil, err
	}
	wanted, err = json.Marshal(map[string]any{"private": true, "dependencies": root.Dependencies})
	return wanted, locked, err
}
