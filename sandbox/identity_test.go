package sandbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// lookalikes are names that become one when they are only cleaned.
var lookalikes = []string{
	"a:b", "a_b", "a b", "a/b", "a\nb", "a\\b", "ä_b", "A_b", "a.b", "a-b", "a_b.", "a_b ", ".", "..", "...", "_", "__", "-", "~",
	"漢", "字", strings.Repeat("x", 62), strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 127), strings.Repeat("x", 128),
	strings.Repeat("x", 129), strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("ü", 300),
}

func TestD09NoTwoIdentitiesShareAName(t *testing.T) {
	home := t.TempDir()
	keys, names, labels := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, profile := range append([]string{"default", "p", "p.q"}, lookalikes...) {
		for _, task := range append([]string{"q.r", "r"}, lookalikes...) {
			id := sandbox.Identity{Home: home, Profile: profile, Task: task}
			if keys[id.Key()] {
				t.Errorf("%q and %q share the key %s", profile, task, id.Key())
			}
			if names[id.Name()] {
				t.Errorf("%q and %q share the name %s", profile, task, id.Name())
			}
			l := id.Labels()
			label := l["hermes-profile"] + "\n" + l["hermes-task-id"]
			if labels[label] {
				t.Errorf("%q and %q share the labels %q", profile, task, l)
			}
			keys[id.Key()], names[id.Name()], labels[label] = true, true, true
		}
	}
}

func TestNamesCanStandInPathsAndLabels(t *testing.T) {
	path, label := regexp.MustCompile(`^[A-Za-z0-9._-]{1,141}$`), regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)
	for _, s := range lookalikes {
		for _, id := range []sandbox.Identity{{Home: "/h", Task: s}, {Home: "/h", Profile: s, Task: "t"}} {
			if name := id.Name(); !path.MatchString(name) || name == "." || name == ".." {
				t.Errorf("%q has the name %q", s, name)
			}
			for key, value := range id.Labels() {
				if !label.MatchString(value) {
					t.Errorf("%q has the label %s=%q", s, key, value)
				}
			}
		}
	}
	if name := (sandbox.Identity{Task: "plain-name_1.2"}).Name(); name != "plain-name_1.2" {
		t.Errorf("a plain name became %q", name)
	}
}

func TestAHomeHasOneIdentityByEveryPath(t *testing.T) {
	dir := t.TempDir()
	home, link := filepath.Join(dir, "home"), filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	before := sandbox.Identity{Home: filepath.Join(link, "home")}.Key() // not made yet
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{home, home + "/", filepath.Join(link, "home"), "home", "./home/../home"} {
		if key := (sandbox.Identity{Home: path}).Key(); key != before {
			t.Errorf("%q has another key", path)
		}
	}
	other := sandbox.Identity{Home: dir}
	if other.Key() == before || other.Labels()["hermes-home"] == (sandbox.Identity{Home: home}).Labels()["hermes-home"] {
		t.Error("two homes share a key or a label")
	}
}

func TestEmptyNamesAreDefault(t *testing.T) {
	if (sandbox.Identity{Home: "/h"}).Key() != (sandbox.Identity{Home: "/h", Profile: "default", Task: "default"}).Key() {
		t.Error("they differ")
	}
}

func TestNamesThatCannotBeWrittenDownAreRefused(t *testing.T) {
	for _, bad := range []string{"\xff", "a\x00b"} {
		for _, id := range []sandbox.Identity{{Home: bad}, {Profile: bad}, {Task: bad}} {
			if id.Validate() == nil {
				t.Errorf("%q is accepted", id)
			}
		}
	}
	for _, good := range lookalikes {
		if err := (sandbox.Identity{Home: "/h", Profile: good, Task: good}).Validate(); err != nil {
			t.Error(err)
		}
	}
}
