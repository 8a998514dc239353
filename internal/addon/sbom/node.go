package sbom

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/npm"
)

// nodes are the packages of npm of a generation. One that several features have in a version is one component.
type nodes struct {
	components map[string]cdx.Component // by package URL
	requires   map[string][]string      // package URLs, by that of who requires them
	anchors    []string
}

func nodesOf(m manifest.Manifest) nodes {
	all := nodes{components: make(map[string]cdx.Component), requires: make(map[string][]string)}
	for _, t := range m.Trees {
		tree := lock.Tree{}
		for _, p := range t.Packages {
			tree.Packages = append(tree.Packages, lock.Node{Path: p.Path, Version: p.Version})
		}
		for _, p := range t.Packages {
			all.add(t.Feature, p)
			for _, name := range p.Requires {
				if found := tree.Found(p.Path, name); found != nil { // what is optional need not be there
					all.requires[nodeURL(p.Name(), p.Version)] = append(all.requires[nodeURL(p.Name(), p.Version)], nodeURL(found.Name(), found.Version))
				}
			}
		}
	}
	for _, f := range m.Features {
		for _, text := range f.Specs {
			spec, err := npm.Parse(text)
			if _, there := all.components[nodeURL(spec.Name, spec.Version)]; err == nil && there {
				all.anchors = append(all.anchors, nodeURL(spec.Name, spec.Version))
			}
		}
	}
	return all
}

func (all nodes) add(feature string, p manifest.NodePackage) {
	address := nodeURL(p.Name(), p.Version)
	c, there := all.components[address]
	if !there {
		c = cdx.Component{
			BOMRef: address, Type: cdx.ComponentTypeLibrary, Name: p.Name(), Version: p.Version, PackageURL: address,
			Licenses: licenses(p.License), Properties: &[]cdx.Property{},
		}
		if sum, err := npm.Hash(p.Integrity); err == nil {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(sum)}}
		}
		if p.Native {
			*c.Properties = append(*c.Properties, cdx.Property{Name: "hermes:native", Value: "it brings compiled code"})
		}
	}
	named := cdx.Property{Name: "hermes:feature", Value: feature}
	if !slices.Contains(*c.Properties, named) {
		*c.Properties = append(*c.Properties, named)
	}
	all.components[address] = c
}

// sorted are the components, and who requires whom.
func (all nodes) sorted() (components []cdx.Component, dependencies []cdx.Dependency) {
	for _, address := range slices.Sorted(maps.Keys(all.components)) {
		components = append(components, all.components[address])
		dependencies = append(dependencies, cdx.Dependency{Ref: address, Dependencies: distinct(all.requires[address])})
	}
	return components, dependencies
}

// nodeURL names a package wherever it came from: no registry is in it.
func nodeURL(name, version string) string {
	return "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
}
