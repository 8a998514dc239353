package npm

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyExactVersionsOfProperNamesAreTaken(t *testing.T) {
	for text, want := range map[string]Spec{
		"left-pad@1.3.0":                                {"left-pad", "1.3.0"},
		"@scope/a.b_c@0.0.1-rc.1":                       {"@scope/a.b_c", "0.0.1-rc.1"},
		"@modelcontextprotocol/server-memory@2026.8.31": {"@modelcontextprotocol/server-memory", "2026.8.31"},
		"2@1.0.0-0a-":                                   {"2", "1.0.0-0a-"},
	} {
		if got, err := Parse(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "@", "a", "@scope/a", "a@", "a@latest", "a@^1.0.0", "a@~1.0.0", "a@1", "a@1.0", "a@1.x", "a@*", "a@>=1.0.0", "a@1.0.0 || 2.0.0", "a@1.0.0 - 2.0.0",
		"a@v1.0.0", "a@=1.0.0", "a@01.0.0", "a@1.0.0-01", "a@1.0.0-", "a@1.0.0+build", "a@1.0.0 ", " a@1.0.0", "a@1.0.0\n", "a @1.0.0",
		"a@npm:b@1.0.0", "npm:b@1.0.0", "a@file:../b", "file:b@1.0.0", "a@git+ssh://git@host/x.git", "git@host:x@1.0.0", "user/repo@1.0.0", "a@https://host/a.tgz", "https://host/a@1.0.0",
		"./a@1.0.0", "../a@1.0.0", "/a@1.0.0", "A@1.0.0", ".a@1.0.0", "_a@1.0.0", "-a@1.0.0", "@/a@1.0.0", "@s/@1.0.0", "@S/a@1.0.0", "@.s/a@1.0.0", "@s/a/b@1.0.0",
		"a/b@1.0.0", "a%2fb@1.0.0", "node_modules@1.0.0", "favicon.ico@1.0.0", "ä@1.0.0", "a;b@1.0.0", "$(a)@1.0.0", strings.Repeat("a", 215) + "@1.0.0", "a@1.0." + strings.Repeat("1", 256),
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a@1.0.0", "@s/a@1.2.3-x.1", "a@^1", "@@", "a@npm:b@1.0.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		// What is taken is safe as a path, as an argument and in an address.
		if s.String() != text || !filepath.IsLocal(s.Name) || filepath.Clean(s.Name) != s.Name || strings.ContainsAny(text, " \t\n\\:%?#;&|$`'\"<>*^~") || text[0] == '-' || text[0] == '.' {
			t.Errorf("%q is %+v", text, s)
		}
	})
}

func TestPlaces(t *testing.T) {
	for path, name := range map[string]string{"a": "a", "@s/a": "@s/a", "a/node_modules/b": "b", "@s/a/node_modules/@t/b": "@t/b", "a/node_modules/b/node_modules/c": "c"} {
		if err := CheckPath(path); err != nil || NameAt(path) != name {
			t.Errorf("%q: %q, %v", path, NameAt(path), err)
		}
	}
	for _, path := range []string{"", "/a", "a/", "../a", "a/../b", "a/b", "node_modules/a", "a/node_modules", "a/node_modules/", "a//node_modules/b", "a/node_modules/../b", "a/node_modules/.bin"} {
		if CheckPath(path) == nil {
			t.Errorf("%q is a place", path)
		}
	}
}

func TestAnIntegrityIsOneStrongSum(t *testing.T) {
	sum := base64.StdEncoding.EncodeToString(make([]byte, 64))
	if got, err := Hash("sha512-" + sum); err != nil || len(got) != 64 {
		t.Errorf("%x, %v", got, err)
	}
	for _, text := range []string{
		"", sum, "sha1-" + base64.StdEncoding.EncodeToString(make([]byte, 20)), "sha512-", "sha512-" + sum[:len(sum)-4], "sha512-" + sum + " sha1-x", "sha512-" + sum + "\n",
		"sha512-" + sum[:40] + "\n" + sum[40:], "sha512-" + sum + "?x", "SHA512-" + sum, "sha256-" + sum,
	} {
		if CheckIntegrity(text) == nil {
			t.Errorf("%q is one", text)
		}
	}
}

func TestAProgramIsFoundWhereSomebodyMayLook(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"one/node": 0o755, "two/node": 0o755, "plain/npm": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	search := strings.Join([]string{"two", "", dir + "/none", dir + "/plain", dir + "/one", dir + "/two"}, string(os.PathListSeparator))
	if got := Program(search, "node"); got != dir+"/one/node" {
		t.Errorf("it is %q", got)
	}
	if got := Program(search, "npm"); got != "" {
		t.Errorf("what cannot be run is %q", got)
	}
}
