package pep508

import (
	"slices"
	"strings"
	"testing"
)

func TestRequirements(t *testing.T) {
	for text, want := range map[string]Requirement{
		"pkg":                        {Name: "pkg"},
		"pkg==1.0.0":                 {Name: "pkg", Specifiers: specifiers("==", "1.0.0")},
		"pkg~=1.0":                   {Name: "pkg", Specifiers: specifiers("~=", "1.0")},
		"pkg>=1,<2":                  {Name: "pkg", Specifiers: specifiers(">=", "1", "<", "2")},
		"pkg[encryption]>=0.20,<1":   {Name: "pkg", Extras: []string{"encryption"}, Specifiers: specifiers(">=", "0.20", "<", "1")},
		"pkg[a,b]==1":                {Name: "pkg", Extras: []string{"a", "b"}, Specifiers: specifiers("==", "1")},
		"pkg[a-b,c_1]":               {Name: "pkg", Extras: []string{"a-b", "c_1"}},
		"pkg==1.*":                   {Name: "pkg", Specifiers: specifiers("==", "1.*")},
		"pkg!=1.2.*":                 {Name: "pkg", Specifiers: specifiers("!=", "1.2.*")},
		"pkg==1.0+cpu":               {Name: "pkg", Specifiers: specifiers("==", "1.0+cpu")},
		"pkg===1.0":                  {Name: "pkg", Specifiers: specifiers("===", "1.0")},
		"pkg==1!2.0rc1.post2.dev3":   {Name: "pkg", Specifiers: specifiers("==", "1!2.0rc1.post2.dev3")},
		"1pkg":                       {Name: "1pkg"},
		"discord.py[voice]==2.7.1":   {Name: "discord.py", Extras: []string{"voice"}, Specifiers: specifiers("==", "2.7.1")},
		strings.Repeat("x", 200):     {Name: strings.Repeat("x", 200)},
		"zip":                        {Name: "zip"},
		"python-whl==1.0.2+abc.tarz": {Name: "python-whl", Specifiers: specifiers("==", "1.0.2+abc.tarz")},
	} {
		got, err := Parse(text)
		if err != nil || got.Name != want.Name || !slices.Equal(got.Extras, want.Extras) || !slices.EqualFunc(got.Specifiers, want.Specifiers, sameText) {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// specifiers are operators with versions.
func specifiers(words ...string) (all []Specifier) {
	for pair := range slices.Chunk(words, 2) {
		all = append(all, Specifier{Operator: pair[0], Version: pair[1]})
	}
	return all
}

func sameText(a, b Specifier) bool { return a.String() == b.String() && a.Operator == b.Operator }

func TestWhatIsNoRequirement(t *testing.T) {
	refuseAll(t, []string{
		"", strings.Repeat("x", 201), "git+https://host/x", "https://host/x", "/etc/passwd", "./x", "../x", "dir/x", `dir\x`, "~/x",
		"pkg; rm", "pkg;python_version>'3'", "pkg && x", "pkg|x", "pkg`x`", "pkg$(x)", "--index-url=x", "-r f", "-r", "-e.", "pkg\nx", "pkg\n", "pkg==1\n", "pkg\t",
		"a@b", "a@file:x", "pkg >=1", "pkg>=1, <2", "pkg>= 1", " pkg", "pkg ", "pkg[]", "pkg[a.b]", "pkg[a", "pkg]", "pkg[a]]", "pkg[a][b]", "pkg[a]x", "pkg[,a]", "pkg[a,]",
		"pkg[-a]", "pkg[a-]", "pkg#x", "pkg#sha256=x", "pkg(1)", "pkg(>=1)", "ünï", "pkg\u212a", "pkg==1.0+\u212a", "pkg\x00", "pkg==١",
	})
}

// Malformed names and versions, and what an installer would take for a file that lies about.
func TestD41WhatLooksLikeARequirementAndIsNone(t *testing.T) {
	refuseAll(t, []string{
		"pkg==", "pkg<>!", "pkg<>1", "pkg=1", "pkg=>1", "pkg!1", "pkg~1", "pkg====1", "pkg-", "pkg.", "-pkg", ".pkg", "_pkg", "_", "a..b", "a.-b", "pkg-==1",
		"pkg==1.0.", "pkg==.1", "pkg==a", "pkg==1,", "pkg==1,,<2", "pkg,==1", "pkg==1.0.*.*", "pkg==*", "pkg==1*", "pkg==1.0a1.*", "pkg==1.dev1.*", "pkg==1+x.*",
		"pkg>=1.*", "pkg<1.*", "pkg~=1.*", "pkg===1.*", "pkg~=1", "pkg>=1+x", "pkg<1+x", "pkg~=1.0+x", "pkg==1+", "pkg==1+x..y", "pkg===any", "pkg==1_0", "pkg==1--1",
		"x.whl", "foo-1.0-py3-none-any.whl", "foo.tar.gz", "foo-1.0.tar.bz2", "foo.zip", "foo.egg", "foo.tgz", "foo.tar.xz", "FOO.WHL", "foo.Zip", "foo.tar", "foo.tar.zst", "foo.exe",
		"foo.zip[a]", "foo.whl==1.0", "foo.whl[a]>=1", "foo==1.0+b.whl", "foo[a]==1.0+b.tar.gz", "foo==1.0+ZIP.ZIP", "foo===1.0.zip",
	})
}

func refuseAll(t *testing.T, texts []string) {
	t.Helper()
	for _, text := range texts {
		r, err := Parse(text)
		if err == nil {
			t.Errorf("%q is taken as %+v", text, r)
		} else if !strings.HasPrefix(err.Error(), "cannot understand the requirement ") || strings.ContainsAny(err.Error(), "\n\x00") || len(err.Error()) > 400 {
			t.Errorf("%q: %q", text, err)
		}
	}
}

func TestD39EverySpellingOfANameIsOneName(t *testing.T) {
	for _, spelling := range []string{"friendly-bard", "Friendly-Bard", "FRIENDLY-BARD", "friendly.bard", "friendly_bard", "friendly--bard", "FrIeNdLy-._.-bArD"} {
		if got := Normalize(spelling); got != "friendly-bard" {
			t.Errorf("%q becomes %q", spelling, got)
		}
	}
	for name, want := range map[string]string{"discord.py": "discord-py", "Pillow": "pillow", "a-": "a-", "_a": "-a", "": "", "mem0ai": "mem0ai"} {
		if got := Normalize(name); got != want || Normalize(got) != want {
			t.Errorf("%q becomes %q, not %q", name, got, want)
		}
	}
}

func TestPins(t *testing.T) {
	for text, want := range map[string]string{"a==1.0": "1.0", "a[b]==1!2.post1": "1!2.post1", "a": "", "a>=1": "", "a==1.*": "", "a==1,<2": "", "a===1": "", "a!=1": ""} {
		r, err := Parse(text)
		version, exact := r.Pin()
		if err != nil || exact != (want != "") || exact && version != want {
			t.Errorf("%q is pinned to %q, %v, %v; want %q", text, version, exact, err, want)
		}
	}
}
