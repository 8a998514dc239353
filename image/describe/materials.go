package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"hermes.example/hermes/internal/addon/sbom"
	"hermes.example/hermes/internal/entry"
)

// material is one thing that an image is made of; its package URL names it and its version for whoever looks for
// known faults in it.
type material struct{ name, version, purl string }

// pythonPackages are those of the sealed runtime, as it describes itself.
func pythonPackages(root string) (found []material, err error) {
	file := filepath.Join(root, filepath.Dir(filepath.Dir(entry.Program)), "hermes-runtime.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var runtime struct{ Distributions map[string]string }
	if err := json.Unmarshal(text, &runtime); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	for name, version := range runtime.Distributions {
		found = append(found, material{name, version, "pkg:pypi/" + name + "@" + url.QueryEscape(version)})
	}
	return found, nil
}

// goModules are those that are linked into our programs, and Go's own library.
func goModules(root string) (found []material, err error) {
	for _, program := range []string{entry.Program, entry.Init, entry.Shim} {
		info, err := buildinfo.ReadFile(filepath.Join(root, program))
		if err != nil {
			return nil, fmt.Errorf("cannot read the modules of %s: %w", program, err)
		}
		modules := append(info.Deps, &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")})
		for _, m := range modules {
			if m.Replace != nil {
				m = m.Replace
			}
			found = append(found, material{m.Path, m.Version, "pkg:golang/" + m.Path + "@" + url.QueryEscape(m.Version)})
		}
	}
	return found, nil
}

// bill is the bill of materials, as CycloneDX. It has no time: the same image has the same bill, byte by byte.
func bill(p Provenance, materials []material) ([]byte, error) {
	slices.SortFunc(materials, func(a, b material) int { return strings.Compare(a.purl, b.purl) })
	materials = slices.Compact(materials)
	digest := sha256.New()
	fmt.Fprintf(digest, "%s %s %s\n", p.Target, p.Architecture, p.Version)
	components := make([]cdx.Component, 0, len(materials))
	for _, m := range materials {
		fmt.Fprintln(digest, m.purl)
		components = append(components, cdx.Component{
			BOMRef: m.purl, Type: cdx.ComponentTypeLibrary, Name: m.name, Version: m.version, PackageURL: m.purl,
		})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: "image", Type: cdx.ComponentTypeContainer, Name: p.Image, Version: p.Version,
		Properties: &[]cdx.Property{
			{Name: "hermes:target", Value: p.Target}, {Name: "hermes:architecture", Value: p.Architecture}, {Name: "hermes:base", Value: p.Base},
		},
	}}
	bom.Components = &components
	return sbom.Write(bom, hex.EncodeToString(digest.Sum(nil)))
}
