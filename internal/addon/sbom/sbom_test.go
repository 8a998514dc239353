package sbom

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/xeipuuv/gojsonschema"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

var (
	digest = strings.Repeat("0123456789abcdef", 4)
	hash   = strings.Repeat("ab", 32)
	sample = manifest.Manifest{
		Version: 1, ABI: "3.11:.cpython-311-x86_64-linux-gnu.so",
		Features: []manifest.Feature{
			{Name: "search.demo", Specs: []string{"demo[fast]==1.0"}, Kind: lock.Shipped, Core: map[string]string{"httpx": "1.0", "anyio": "4.1", "idna": "3", "certifi": "2026.1"}, Distributions: []string{"demo", "leaf"}},
			{Name: "tts.other", Specs: []string{"other==2"}, Kind: lock.FirstUse, Distributions: []string{"leaf", "other"}},
		},
		Distributions: []manifest.Distribution{
			{Name: "demo", Version: "1.0+local", License: "MIT", Requires: []string{"Leaf>=1 ; extra == 'fast'", "httpx", "leaf"}, Hashes: []string{"sha256:" + hash}, Modules: []string{"demo"}},
			{Name: "leaf", Version: "3", License: "Apache-2.0 OR BSD-3-Clause", Hashes: []string{"sha256:" + hash, "sha256:" + strings.Repeat("cd", 32)}},
			{Name: "other", Version: "2", Source: true, License: "Something \"of\" its own", Requires: []string{"leaf (<4)"}},
		},
	}
)

func generate(t *testing.T, m manifest.Manifest) []byte {
	t.Helper()
	data, err := Generate(m, digest)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDocumentIsValid(t *testing.T) {
	validate := schema(t)
	for name, m := range map[string]manifest.Manifest{"sample": sample, "empty": {}} {
		if problems := validate(generate(t, m)); len(problems) > 0 {
			t.Errorf("%s: %s", name, strings.Join(problems, "\n"))
		}
	}
	broken := bytes.Replace(generate(t, sample), []byte(`"id": "MIT"`), []byte(`"id": "no license"`), 1)
	if len(validate(broken)) == 0 {
		t.Error("the schema takes anything")
	}
}

// Every identifier that we call known is one to SPDX.
func TestKnownLicensesAreKnown(t *testing.T) {
	m := manifest.Manifest{}
	for _, id := range known {
		m.Distributions = append(m.Distributions, manifest.Distribution{Name: strings.ToLower(id), Version: "1", License: id})
	}
	if problems := schema(t)(generate(t, m)); len(problems) > 0 {
		t.Error(strings.Join(problems, "\n"))
	}
}

func TestDocumentSaysWhatTheManifestSays(t *testing.T) {
	var bom cdx.BOM
	if err := json.Unmarshal(generate(t, sample), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.SerialNumber != "urn:uuid:01234567-89ab-8def-8123-456789abcdef" {
		t.Errorf("%v %s", bom.SpecVersion, bom.SerialNumber)
	}
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.PackageURL)
	}
	if want := []string{"pkg:pypi/demo@1.0%2Blocal", "pkg:pypi/leaf@3", "pkg:pypi/other@2"}; !slices.Equal(got, want) {
		t.Errorf("the components are %v", got)
	}
	depends := make(map[string][]string)
	for _, d := range *bom.Dependencies {
		if d.Dependencies != nil {
			depends[d.Ref] = *d.Dependencies
		}
	}
	if want := (map[string][]string{
		"generation:" + digest:      {"pkg:pypi/demo@1.0%2Blocal", "pkg:pypi/other@2"},
		"pkg:pypi/demo@1.0%2Blocal": {"pkg:pypi/leaf@3"},
		"pkg:pypi/other@2":          {"pkg:pypi/leaf@3"},
	}); !reflect.DeepEqual(depends, want) {
		t.Errorf("the dependencies are %v", depends)
	}
	leaf := (*bom.Components)[1]
	if want := []cdx.Property{{Name: "hermes:feature", Value: "search.demo"}, {Name: "hermes:feature", Value: "tts.other"}}; !slices.Equal(*leaf.Properties, want) {
		t.Errorf("leaf is of %v", *leaf.Properties)
	}
	built := *(*bom.Components)[2].Properties
	if i := slices.IndexFunc(built, func(p cdx.Property) bool { return p.Name == "hermes:deviation" }); i < 0 || !strings.Contains(built[i].Value, "source") {
		t.Errorf("of what was built here it says %v", built)
	}
	if len(*leaf.Hashes) != 2 || (*leaf.Hashes)[0].Value != hash {
		t.Errorf("the hashes of leaf are %v", *leaf.Hashes)
	}
	if want := []cdx.Property{
		{Name: "hermes:abi", Value: sample.ABI},
		{Name: "hermes:feature", Value: "search.demo"}, {Name: "hermes:lock:search.demo", Value: "shipped"},
		{Name: "hermes:core:search.demo", Value: "anyio==4.1"}, {Name: "hermes:core:search.demo", Value: "certifi==2026.1"},
		{Name: "hermes:core:search.demo", Value: "httpx==1.0"}, {Name: "hermes:core:search.demo", Value: "idna==3"},
		{Name: "hermes:feature", Value: "tts.other"}, {Name: "hermes:lock:tts.other", Value: "first-use"},
	}; !slices.Equal(*bom.Metadata.Component.Properties, want) {
		t.Errorf("of the generation it says %v", *bom.Metadata.Component.Properties)
	}
}

func TestDocumentIsReproducible(t *testing.T) {
	if !bytes.Equal(generate(t, sample), generate(t, sample)) {
		t.Error("two documents of one generation differ")
	}
}

func TestLicenseForms(t *testing.T) {
	for text, want := range map[string]cdx.LicenseChoice{
		"MIT":                        {License: &cdx.License{ID: "MIT"}},
		"MPL-2.0 AND MIT":            {Expression: "MPL-2.0 AND MIT"},
		"BSD":                        {License: &cdx.License{Name: "BSD"}},
		"MIT OR":                     {License: &cdx.License{Name: "MIT OR"}},
		"MIT License":                {License: &cdx.License{Name: "MIT License"}},
		"BSD 3-Clause OR Apache-2.0": {License: &cdx.License{Name: "BSD 3-Clause OR Apache-2.0"}},
	} {
		if got := *licenses(text); !reflect.DeepEqual(got, cdx.Licenses{want}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if licenses("") != nil {
		t.Error("no license became one")
	}
}

func TestWhatIsNoDigest(t *testing.T) {
	for _, bad := range []string{"", "abc", "zz" + digest[2:], "0123"} {
		if _, err := Generate(sample, bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// schema is the one of CycloneDX, which comes with the library; nothing is fetched.
func schema(t *testing.T) (validate func([]byte) []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "schema")
	load := func(name string) gojsonschema.JSONLoader {
		return gojsonschema.NewReferenceLoader("file://" + filepath.Join(dir, name))
	}
	loader := gojsonschema.NewSchemaLoader()
	for name, file := range map[string]string{"spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		if err := loader.AddSchema("http://cyclonedx.org/schema/"+name, load(file)); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := loader.Compile(load("bom-1.6.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return func(document []byte) (problems []string) {
		result, err := compiled.Validate(gojsonschema.NewBytesLoader(document))
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range result.Errors() {
			problems = append(problems, e.String())
		}
		return problems
	}
}
