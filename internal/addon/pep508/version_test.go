package pep508

import (
	"strings"
	"testing"
)

// In the order that PEP 440 gives, spellings of one version on one line.
const inOrder = `
0.9
1.dev0 1.0.DEV 1-dev_0
1.0a1 1alpha1 1.0-a.1
1.0a1.post1 1a1-1
1.0b2.dev3
1.0b2 1.beta-2
1.0rc1 1c1 1pre1 1.0.preview1
1.0 1 v1 1.0.0 0!1 1.00 00!01
1.0+a 1+A
1.0+a.b 1+a-b
1.0+1 1+01
1.0+1.a
1.0+10
1.0.post0.dev1
1.0.post0 1post 1.rev 1-0 1_r0
1.0.1
1.2
1.10
1.20240101123456789012345
1!0.5 01!0.5.0
2!0
`

func TestVersionsInOrder(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(inOrder), "\n")
	for i, line := range lines {
		for _, a := range strings.Fields(line) {
			for k, other := range lines {
				for _, b := range strings.Fields(other) {
					want := min(max(i-k, -1), 1)
					if got := version(t, a).Compare(version(t, b)); got != want {
						t.Errorf("%s and %s compare as %d, not %d", a, b, got, want)
					}
				}
			}
		}
	}
}

func version(t *testing.T, text string) Version {
	t.Helper()
	v, err := ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	if v.String() != text {
		t.Errorf("%q is written as %q", text, v)
	}
	return v
}

func TestWhatIsNoVersion(t *testing.T) {
	for _, text := range []string{"", " ", "a", "1.", ".1", "1..2", "1.0-", "1+", "1+a+b", "1!", "!1", "1.x", "1.0.*", "1 0", "1\n2", "vv1", "1.0-py3", "latest", "1.0+\u212a", "١", "1--1", "1a1a1", "1dev1post1", strings.Repeat("1", 201)} {
		if v, err := ParseVersion(text); err == nil || !strings.HasPrefix(err.Error(), "cannot understand the version ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is %+v, %v", text, v, err)
		}
	}
}

func TestWhichVersionsAreAccepted(t *testing.T) {
	for _, test := range []struct{ requirement, accepted, not string }{
		{"x", "0 1.dev0 1!1 1+a", ""},
		{"x==1.0", "1 1.0.0 v1.0 1.0+cpu", "1.0.post1 1.0a1 1.0.dev0 1.1 1!1"},
		{"x==1.0+cpu", "1+CPU 1.0.0+cpu", "1.0 1.0+gpu 1.0+cpu.1"},
		{"x!=1.0", "1.1 1.0.post1", "1.0 1.0+cpu"},
		{"x==1.2.*", "1.2 1.2.dev0 1.2a1 1.2.9.post1 1.2.3+x", "1.20 1.3 1 1!1.2"},
		{"x==1!1.*", "1!1 1!1.5 1!1rc1", "1 1.5 2!1"},
		{"x!=1.2.*", "1.3 1", "1.2 1.2.1 1.2a1"},
		{"x~=1.4.2", "1.4.2 1.4.9 1.4.2.post1 1.4.2+x", "1.4.1 1.5 1.4.2rc1 2"},
		{"x~=1.4", "1.4 1.99", "1.3 2 1!1.4"},
		{"x~=1.4a1", "1.4a1 1.4 1.5", "1.4.dev0 2"},
		{"x>=1,<2", "1 1.0 1.9 1.0+x 1.9rc1", "0.9 2 2.dev0 2rc1 2a1 1rc1"},
		{"x<2rc1", "2b1 2a1 2.dev0 1", "2rc1 2"},
		{"x<2.post1", "2 2rc1 2.post0", "2.post1 2.post1.dev0"},
		{"x>1", "1.0.1 2 1.0.1.dev0 1.0.1+x", "1 1.post1 1+x 1.post1.dev0 1.post1+x"},
		{"x>1.post1", "1.post2 1.0.1 1.post2+x", "1.post1 1.post1+x 1"},
		{"x>1rc1", "1 1rc2 1.post1 1+x", "1rc1 1rc1.post1 1rc1+x"},
		{"x<=1", "1 1+x 0.9 1rc1", "1.post1 1.0.1"},
		{"x===1.0+A", "1.0+a 1.0+A", "1.0 1+a"},
		{"mem0ai>=2.0.10,<3", "2.0.10 2.2.1 2.1.0b2", "2.0.9 3.0 3.0b1"},
	} {
		r, err := Parse(test.requirement)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{test.accepted: true, test.not: false} {
			for v := range strings.FieldsSeq(text) {
				if got, err := r.Accepts(v); err != nil || got != want {
					t.Errorf("%s accepts %s: %v, %v", r, v, got, err)
				}
			}
		}
		if _, err := r.Accepts("nonsense"); err == nil {
			t.Errorf("%s accepts nonsense", r)
		}
	}
}
