package pep508

import (
	"strings"
	"testing"
)

// Whatever we take, Python takes too and reads in the same way; written down it is what it was;
// and an installer could take none of it for an option, an address or a file.
func FuzzRequirement(f *testing.F) {
	for _, seed := range []string{
		"pkg", "pkg==1.0.0", "pkg~=1.0", "pkg>=1,<2", "pkg[encryption]>=0.20,<1", "pkg[a,b]==1", "pkg==1.*", "pkg==1.0+cpu", "pkg===1.0", "_pkg", "1pkg",
		"a..b", "pkg-", "pkg==", "pkg<>!", "foo.tar.gz", "foo==1.0+b.whl", "a@b", "pkg;x", "--x", "a==v1!2.0-RC_1.post-2.dev3+a.b", "a!=1-1", "a==1.0\u212a",
	} {
		f.Add(seed, "1.0")
	}
	f.Add("a>1rc1", "1.post1+x")
	f.Add("a<2.post1", "2RC1")
	j := newJudge(f)
	f.Fuzz(func(t *testing.T, text, version string) {
		r, err := Parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: %q", text, err)
			}
			return
		}
		if r.String() != text || strings.ContainsAny(text, "/\\@;:#$`|& \t\r\n'\"(){}") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, ".") || isArchive(text) {
			t.Errorf("%q is taken as %+v", text, r)
		}
		python, taken := j.ask(t, text, version)
		if !taken {
			t.Fatalf("Python does not take %q", text)
		}
		accepted, err := r.Accepts(version)
		if err != nil {
			return
		}
		if python[0] == nil || accepted != *python[0] && j.has(t, "packaging>=26.3") {
			t.Errorf("%s accepts %q: %v, and Python does not say so", r, version, accepted)
		}
	})
}
