package manifest

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

var zeros = strings.Repeat("0", 64)

func good() Manifest {
	return Manifest{
		Version: Version, ABI: "3.11:.cpython-311-x86_64-linux-gnu.so",
		Features:      []Feature{{Name: "search.exa", Specs: []string{"exa-py==2.10.2"}, Kind: "shipped", Core: map[string]string{"httpx": "1.0"}, Distributions: []string{"exa-py"}}},
		Distributions: []Distribution{{Name: "exa-py", Version: "2.10.2", Hashes: []string{"sha256:" + zeros}, Modules: []string{"exa_py"}}},
		Files: []File{
			{Path: "exa_py/__init__.py", Size: 3, SHA256: zeros},
			{Path: "exa_py/bin/tool", Size: 0, SHA256: zeros, Exec: true},
		},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	text, err := Encode(good())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(text)
	if err != nil || !reflect.DeepEqual(m, good()) {
		t.Errorf("%+v %v", m, err)
	}
	again, err := Encode(m)
	if err != nil || Digest(again) != Digest(text) || !IsDigest(Digest(text)) {
		t.Errorf("%s %v", again, err)
	}
}

// TestEveryPartCountsForTheDigest: two generations that differ in anything have two names.
func TestEveryPartCountsForTheDigest(t *testing.T) {
	digests := make(map[string]string)
	for name, change := range map[string]func(m *Manifest){
		"nothing":    func(*Manifest) {},
		"ABI":        func(m *Manifest) { m.ABI = "3.12:.x" },
		"core":       func(m *Manifest) { m.Core = "another" },
		"feature":    func(m *Manifest) { m.Features[0].Name = "search.other" },
		"specs":      func(m *Manifest) { m.Features[0].Specs = nil },
		"lock":       func(m *Manifest) { m.Features[0].Kind = "first-use" },
		"version":    func(m *Manifest) { m.Distributions[0].Version = "3" },
		"source":     func(m *Manifest) { m.Distributions[0].Source = true },
		"content":    func(m *Manifest) { m.Files[0].SHA256 = strings.Repeat("1", 64) },
		"path":       func(m *Manifest) { m.Files[0].Path = "exa_py/__init.py" },
		"executable": func(m *Manifest) { m.Files[0].Exec = true },
		"no feature": func(m *Manifest) { m.Features = nil },
	} {
		m := good()
		change(&m)
		text, err := Encode(m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, ok := digests[Digest(text)]; ok {
			t.Errorf("%s is named as %s", name, other)
		}
		digests[Digest(text)] = name
	}
}

// TestTheCoreIsReadWithoutTheRest: what follows it is not even looked at.
func TestTheCoreIsReadWithoutTheRest(t *testing.T) {
	m := good()
	for _, core := range []string{"", zeros} {
		m.Core = core
		text, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := bytes.Cut(text, []byte(`"distributions"`))
		if got, err := CoreOf(bytes.NewReader(head)); err != nil || got != core {
			t.Errorf("%q, %v, want %q", got, err, core)
		}
	}
	for _, text := range []string{"", "{", `{"version":1,`, `{"core":`, "[]", "null", `{"version":{}}`} {
		if got, err := CoreOf(strings.NewReader(text)); got != "" {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestWhatNoHonestManifestHas(t *testing.T) {
	file := func(path string) func(m *Manifest) { return func(m *Manifest) { m.Files[1].Path = path } }
	for name, change := range map[string]func(m *Manifest){
		"another version":            func(m *Manifest) { m.Version = 2 },
		"no ABI":                     func(m *Manifest) { m.ABI = "" },
		"out of the directory":       file("f/../../x"),
		"absolute":                   file("/x"),
		"the directory itself":       file("."),
		"no name":                    file(""),
		"a doubled slash":            file("f//x"),
		"a line end":                 file("f\nx"),
		"a NUL":                      file("f\x00x"),
		"no text":                    file("f\xff"),
		"too long":                   file(strings.Repeat("f", longest+1)),
		"the same twice":             file("exa_py/__init__.py"),
		"not sorted":                 file("a"),
		"a file as a directory":      file("exa_py/__init__.py/x"),
		"a negative size":            func(m *Manifest) { m.Files[0].Size = -1 },
		"a short hash":               func(m *Manifest) { m.Files[0].SHA256 = "0" },
		"a hash in capitals":         func(m *Manifest) { m.Files[0].SHA256 = strings.Repeat("A", 64) },
		"a feature that is a path":   func(m *Manifest) { m.Features[0].Name = "../x" },
		"a feature that is long":     func(m *Manifest) { m.Features[0].Name = strings.Repeat("x", 101) },
		"a feature twice":            func(m *Manifest) { m.Features = append(m.Features, m.Features[0]) },
		"an empty requirement":       func(m *Manifest) { m.Features[0].Specs = []string{""} },
		"a requirement of two lines": func(m *Manifest) { m.Features[0].Specs = []string{"a\nb"} },
		"a distribution not there":   func(m *Manifest) { m.Features[0].Distributions = []string{"other"} },
		"a distribution twice":       func(m *Manifest) { m.Distributions = append(m.Distributions, m.Distributions[0]) },
		"one without a version":      func(m *Manifest) { m.Distributions[0].Version = "" },
	} {
		m := good()
		change(&m)
		if text, err := Encode(m); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
	text, err := Encode(good())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "half": text[:len(text)/2], "twice": append(bytes.Clone(text), text...), "null": []byte("null"), "a list": []byte("[]"),
		"more than is known": bytes.Replace(text, []byte(`{"version"`), []byte(`{"more":1,"version"`), 1),
		"too long":           append(bytes.Clone(text), make([]byte, Largest)...),
	} {
		if m, err := Decode(text); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// FuzzDecode: whatever is accepted is a manifest that can be written, and is read as the same again.
func FuzzDecode(f *testing.F) {
	text, err := Encode(good())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"abi":"x","features":null,"distributions":[],"files":[{"path":"a","size":0,"sha256":"` + zeros + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text)
		if err != nil {
			return
		}
		written, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(written)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%+v, then %+v %v", m, again, err)
		}
	})
}
