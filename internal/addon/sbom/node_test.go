package sbom

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

// withTrees has two features of npm beside those of Python, which have a package in common.
func withTrees() manifest.Manifest {
	integrity := "sha512-" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xab", 64)))
	dep := manifest.NodePackage{Path: "dep", Version: "2.0.0", Integrity: integrity, License: "ISC", Native: true}
	older := manifest.NodePackage{Path: "@m/server/node_modules/dep", Version: "1.0.0", Integrity: integrity}
	m := sample
	m.Features = append([]manifest.Feature{
		{Name: "mcp.a", Specs: []string{"@m/server@1.0.0"}, Kind: lock.Shipped}, {Name: "mcp.b", Specs: []string{"other@1.0.0"}, Kind: lock.Shipped},
	}, m.Features...)
	m.Trees = []manifest.Tree{
		{Feature: "mcp.a", Packages: []manifest.NodePackage{{Path: "@m/server", Version: "1.0.0", Integrity: integrity, License: "MIT", Requires: []string{"dep", "only-mac"}}, older, dep}},
		{Feature: "mcp.b", Packages: []manifest.NodePackage{dep, {Path: "other", Version: "1.0.0", Integrity: integrity, Requires: []string{"dep"}}}},
	}
	return m
}

func TestPackagesOfNPMAreComponents(t *testing.T) {
	text := generate(t, withTrees())
	if problems := schema(t)(text); len(problems) > 0 {
		t.Error(strings.Join(problems, "\n"))
	}
	var bom cdx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]cdx.Component)
	for _, c := range *bom.Components {
		if _, twice := found[c.PackageURL]; twice {
			t.Errorf("%s is there twice", c.PackageURL)
		}
		found[c.PackageURL] = c
	}
	dep := found["pkg:npm/dep@2.0.0"]
	if len(found) != 7 || !reflect.DeepEqual(*dep.Licenses, cdx.Licenses{{License: &cdx.License{ID: "ISC"}}}) {
		t.Errorf("%d components, and %+v", len(found), dep)
	}
	if want := []cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: strings.Repeat("ab", 64)}}; !reflect.DeepEqual(*dep.Hashes, want) {
		t.Errorf("its hashes are %v", *dep.Hashes)
	}
	if want := []cdx.Property{{Name: "hermes:native", Value: "it brings compiled code"}, {Name: "hermes:feature", Value: "mcp.a"}, {Name: "hermes:feature", Value: "mcp.b"}}; !slices.Equal(*dep.Properties, want) {
		t.Errorf("its properties are %v", *dep.Properties)
	}
	depends := make(map[string][]string)
	for _, d := range *bom.Dependencies {
		if d.Dependencies != nil {
			depends[d.Ref] = *d.Dependencies
		}
	}
	for ref, want := range map[string][]string{
		"generation:" + digest:      {"pkg:npm/%40m/server@1.0.0", "pkg:npm/other@1.0.0", "pkg:pypi/demo@1.0%2Blocal", "pkg:pypi/other@2"},
		"pkg:npm/%40m/server@1.0.0": {"pkg:npm/dep@1.0.0"},
		"pkg:npm/other@1.0.0":       {"pkg:npm/dep@2.0.0"},
	} {
		if !slices.Equal(depends[ref], want) {
			t.Errorf("%s needs %v", ref, depends[ref])
		}
	}
}
