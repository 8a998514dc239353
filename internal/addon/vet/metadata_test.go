package vet

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLicenses(t *testing.T) {
	for metadata, want := range map[string]string{
		"License-Expression: Apache-2.0 OR MIT\nLicense: other\n":                                           "Apache-2.0 OR MIT",
		"License: BSD\nClassifier: License :: OSI Approved :: MIT License\n":                                "BSD",
		"License: UNKNOWN\nClassifier: License :: OSI Approved :: MIT License\n":                            "MIT License",
		"License: A text\n        of a license\nClassifier: License :: OSI Approved :: BSD License\n":       "BSD License",
		"License: A text\nwithout any folding\nLicense-Expression: MIT\n":                                   "A text",
		"Classifier: License :: OSI Approved\nClassifier: License :: A :: B\nClassifier: License :: C :: D": "B, D",
		"": "",
	} {
		if got := parseHeaders([]byte(metadata)).license(); got != want {
			t.Errorf("%q: %q, not %q", metadata, got, want)
		}
	}
}

func TestHeadersEndBeforeTheDescription(t *testing.T) {
	got := parseHeaders([]byte("Name: a\rRequires-Dist: b\r\nRequires-Dist: c ; extra == 'x'\r\n\r\nRequires-Dist: d\r\n"))
	want := headers{"name": {"a"}, "requires-dist": {"b", "c ; extra == 'x'"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// Held against Python itself: what it finds, and what makes it give up, also for the distributions before and after.
func TestEntryPointsAreReadAsPythonDoes(t *testing.T) {
	for text, want := range map[string][]string{
		"[console_scripts]\n  git = x:main [extra]\n# no = comment\n\n[ a.b ]\nname=x\n": {" a.b :name", "console_scripts:git"},
		"before = x\n[g]\r\none = a\rtwo = b=c\n = d\n":                                  {"g:", "g:one", "g:two"},
		"[g]\nnonsense\n":               nil,
		"[g]\none = a\fhermes = b\n":    nil,
		"[g]\none = a\u2028two = b\n":   nil,
		"[g]\none = \xff\n":             nil,
		"nonsense before any group\n\n": {},
	} {
		got, why := entryPoints([]byte(text))
		slices.Sort(got)
		if (want == nil) != (why != "") || want != nil && !slices.Equal(got, want) {
			t.Errorf("%q: %q (%s), not %q", text, got, why, want)
		}
		if want == nil {
			continue
		}
		tree := t.TempDir()
		write(t, tree, map[string]string{"x-1.dist-info/METADATA": "Name: x\nVersion: 1\n", "x-1.dist-info/entry_points.txt": text})
		program := "import importlib.metadata as m; print('|'.join(sorted(e.group + ':' + e.name for d in m.distributions(path=sys.argv[1:]) for e in d.entry_points)))"
		if found := python(t, program, tree); found != strings.TrimSpace(strings.Join(want, "|")) {
			t.Errorf("%q: Python finds %s", text, found)
		}
	}
}

// One distribution with entry points that Python cannot read keeps the core from finding its own.
func TestBrokenEntryPoints(t *testing.T) {
	w := demo(map[string]string{"demo.py": ""})
	tree := staged(t, w)
	write(t, tree, map[string]string{"demo-1.0.dist-info/entry_points.txt": "[any]\nnonsense\n"}) // uv refuses such a wheel
	program := "import importlib.metadata as m\ntry: m.entry_points(group='hermes.plugins')\nexcept Exception: print('broken')"
	if found := python(t, program, tree); found != "broken" {
		t.Skip("this Python passes over what it cannot read")
	}
	expect(t, check(t, tree, w), EntryPoint, "demo-1.0.dist-info/entry_points.txt")
}
