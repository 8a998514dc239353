// Package sbom writes the bill of materials of a generation, as CycloneDX 1.6, from the generation's manifest and
// from nothing else: the same generation has the same bytes, wherever and whenever it is asked.
package sbom

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/pep508"
)

// Generate returns the document for a generation, which its digest names.
func Generate(m manifest.Manifest, digest string) ([]byte, error) {
	root := generation(m, digest)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &root}
	components := make([]cdx.Component, 0, len(m.Distributions))
	ofNPM := nodesOf(m)
	dependencies := []cdx.Dependency{{Ref: root.BOMRef, Dependencies: distinct(slices.Concat(refs(m, anchors(m)), ofNPM.anchors))}}
	for _, d := range m.Distributions {
		components = append(components, component(m, d))
		dependencies = append(dependencies, cdx.Dependency{Ref: packageURL(d), Dependencies: distinct(refs(m, d.Requires))})
	}
	more, theirs := ofNPM.sorted()
	components, dependencies = append(components, more...), append(dependencies, theirs...)
	bom.Components, bom.Dependencies = &components, &dependencies
	return Write(bom, digest)
}

// Write returns the text of a bill, with a serial number made of the digest of what it is about.
func Write(bom *cdx.BOM, digest string) (_ []byte, err error) {
	if bom.SerialNumber, err = serialNumber(digest); err != nil {
		return nil, err
	}
	// Set here and not by EncodeVersion, which copies the whole bill first.
	bom.SpecVersion, bom.JSONSchema = cdx.SpecVersion1_6, "http://cyclonedx.org/schema/bom-1.6.schema.json"
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("cannot write the bill of materials of %.12s: %w", digest, err)
	}
	return b.Bytes(), nil
}

// serialNumber makes a UUID of the digest, of the version that RFC 9562 leaves to its users.
func serialNumber(digest string) (string, error) {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) < 16 {
		return "", fmt.Errorf("cannot write a bill of materials: %.80q is no digest", digest)
	}
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]), nil
}

// generation is the component that all others are parts of.
func generation(m manifest.Manifest, digest string) cdx.Component {
	properties := []cdx.Property{{Name: "hermes:abi", Value: m.ABI}}
	for _, f := range m.Features {
		properties = append(properties, cdx.Property{Name: "hermes:feature", Value: f.Name},
			cdx.Property{Name: "hermes:lock:" + f.Name, Value: string(f.Kind)})
		for _, name := range slices.Sorted(maps.Keys(f.Core)) {
			properties = append(properties, cdx.Property{Name: "hermes:core:" + f.Name, Value: name + "==" + f.Core[name]})
		}
	}
	return cdx.Component{
		BOMRef: "generation:" + digest, Type: cdx.ComponentTypeApplication,
		Name: "hermes-addons", Version: digest, Properties: &properties,
	}
}

func component(m manifest.Manifest, d manifest.Distribution) cdx.Component {
	c := cdx.Component{
		BOMRef: packageURL(d), Type: cdx.ComponentTypeLibrary,
		Name: d.Name, Version: d.Version, PackageURL: packageURL(d), Licenses: licenses(d.License),
	}
	// Which of the files that the lock allows it came from is not known; all are the same release.
	if hashes := lockHashes(d); len(hashes) > 0 {
		c.Hashes = &hashes
	}
	var properties []cdx.Property
	for _, f := range m.Features {
		if slices.Contains(f.Distributions, d.Name) {
			properties = append(properties, cdx.Property{Name: "hermes:feature", Value: f.Name})
		}
	}
	if d.Source {
		properties = append(properties, cdx.Property{Name: "hermes:deviation", Value: "built from source on this machine; the hashes are of the source"})
	}
	if len(properties) > 0 {
		c.Properties = &properties
	}
	return c
}

func lockHashes(d manifest.Distribution) []cdx.Hash {
	var hashes []cdx.Hash
	for _, h := range d.Hashes {
		if value, ok := strings.CutPrefix(h, "sha256:"); ok {
			hashes = append(hashes, cdx.Hash{Algorithm: cdx.HashAlgoSHA256, Value: value})
		}
	}
	return hashes
}

// packageURL names a distribution wherever it came from: no index is in it.
func packageURL(d manifest.Distribution) string {
	return "pkg:pypi/" + d.Name + "@" + url.QueryEscape(d.Version)
}

// anchors are the requirements that features have of their own.
func anchors(m manifest.Manifest) []string {
	var all []string
	for _, f := range m.Features {
		all = append(all, f.Specs...)
	}
	return all
}

// refs are those of the requirements that are in the generation. A condition of a requirement is not judged: what
// it asks for would not be here for nothing.
func refs(m manifest.Manifest, requirements []string) (found []string) {
	for _, r := range requirements {
		i := slices.IndexFunc(m.Distributions, func(d manifest.Distribution) bool { return d.Name == requiredName(r) })
		if i >= 0 {
			found = append(found, packageURL(m.Distributions[i]))
		}
	}
	return found
}

// distinct are references as a bill has them: sorted, each once, and left out where there are none.
func distinct(refs []string) *[]string {
	slices.Sort(refs)
	refs = slices.Compact(refs)
	if len(refs) == 0 {
		return nil
	}
	return &refs
}

// requiredName is the normalised name at the beginning of a requirement.
func requiredName(requirement string) string {
	requirement = strings.TrimSpace(requirement)
	end := strings.IndexFunc(requirement, func(r rune) bool {
		return !strings.ContainsRune("-_.", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end >= 0 {
		requirement = requirement[:end]
	}
	return pep508.Normalize(requirement)
}
