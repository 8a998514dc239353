package userdb

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

var sample = Files{
	Passwd: "root:x:0:0:root:/root:/bin/bash\n# a comment\nbroken\nbad:x:-1:x::/:\nhermes:x:10000:10000:a, b:/opt/data:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh",
	Group:  "root:x:0:\nvideo:x:44:other,hermes\nshort:x\ndialout:x:20:\nhermes:x:10000:\nagain:x:44:hermes\nodd:x:zero:hermes\n",
}

func TestFind(t *testing.T) {
	want := User{Name: "hermes", UID: 10000, GID: 10000, Groups: []int{44}, Home: "/opt/data"}
	if got, ok := sample.ByName("hermes"); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, ok := sample.ByID(1000); !ok || got.Name != "node" || got.Groups != nil {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, who := range []string{"", "bad", "broken", "nobody", "hermes:x"} {
		if got, ok := sample.ByName(who); ok {
			t.Errorf("%q is %+v", who, got)
		}
	}
	if _, ok := sample.ByID(-1); ok {
		t.Error("nobody has a negative id")
	}
}

func TestMembers(t *testing.T) {
	f := Files{Passwd: "root:x:0:0::/:\na:x:1:7::/:\nb:x:2:2::/:\nbroken:x\n", Group: "seven:x:7:b,gone\nempty:x:8:\nseven-too:x:7:a\nbroken:x:7\n"}
	for gid, want := range map[int][]string{0: {"root"}, 2: {"b"}, 7: {"a", "b", "gone"}, 8: nil, 9: nil} {
		if got := f.Members(gid); !slices.Equal(got, want) {
			t.Errorf("in %d are %q", gid, got)
		}
	}
}

func TestChangesKeepEveryOtherByte(t *testing.T) {
	got := sample.SetIDs("hermes", 1000, 20)
	want := Files{
		Passwd: "root:x:0:0:root:/root:/bin/bash\n# a comment\nbroken\nbad:x:-1:x::/:\nhermes:x:1000:20:a, b:/opt/data:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh",
		Group:  "root:x:0:\nvideo:x:44:other,hermes\nshort:x\ndialout:x:20:\nhermes:x:20:\nagain:x:44:hermes\nodd:x:zero:hermes\n",
	}
	if got != want {
		t.Errorf("got %q", got)
	}
	if again := got.SetIDs("hermes", 1000, 20); again != got {
		t.Errorf("the second time changes something: %q", again)
	}
	if u, _ := got.ByName("hermes"); u.UID != 1000 || u.GID != 20 {
		t.Errorf("found by name it is %+v", u)
	}
}

func TestJoin(t *testing.T) {
	for what, c := range map[string]struct {
		before   string
		gid      int
		fallback string
		want     string
	}{
		"named":            {"video:x:44:\n", 44, "new", "video:x:44:hermes\n"},
		"with others":      {"video:x:44:a,b\r\n", 44, "new", "video:x:44:a,b,hermes\r\n"},
		"already":          {"video:x:44:hermes\n", 44, "new", "video:x:44:hermes\n"},
		"unnamed":          {"video:x:44:", 991, "hostdocker", "video:x:44:\nhostdocker:x:991:hermes\n"},
		"name is of other": {"hostdocker:x:990:hermes\n", 991, "hostdocker", "hostdocker:x:991:hermes\n"},
		"only the first":   {"video:x:44:\nalso:x:44:\n", 44, "new", "video:x:44:hermes\nalso:x:44:\n"},
		"a similar name":   {"video:x:44:hermes2\n", 44, "new", "video:x:44:hermes2,hermes\n"},
		"nothing at all":   {"", 7, "new", "new:x:7:hermes\n"},
	} {
		if got := (Files{Group: c.before}).Join("hermes", c.gid, c.fallback).Group; got != c.want {
			t.Errorf("%s: got %q, want %q", what, got, c.want)
		}
	}
}

func TestReadBelowARoot(t *testing.T) {
	root := t.TempDir()
	if got, err := Read(root); err != nil || got != (Files{}) {
		t.Errorf("without files: %+v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{Passwd: sample.Passwd, Group: sample.Group} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Read(root); err != nil || got != sample {
		t.Errorf("got %+v, %v", got, err)
	}
}
