package accounts

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	files := map[string]string{
		Users:  "root:x:0:0:root:/root:/bin/sh\napp:x:1000:50:An app:/srv/app:/bin/sh\nbroken\nshort:x:7\nbad:x:-1:zero:::\n",
		Groups: "root:x:0:\nstaff:x:50:\nadmins:x:60:app\n",
	}
	read := func(file string) (string, error) {
		text, ok := files[file]
		if !ok {
			return "", fs.ErrNotExist
		}
		return text, nil
	}
	for text, want := range map[string]Account{
		"root":        {"root", 0, 0, "/root"},
		"0":           {"root", 0, 0, "/root"},
		"app":         {"app", 1000, 50, "/srv/app"},
		"1000":        {"app", 1000, 50, "/srv/app"},
		"app:admins":  {"app", 1000, 60, "/srv/app"},
		"app:7":       {"app", 1000, 7, "/srv/app"},
		"1234":        {"", 1234, 0, ""},
		"1234:5678":   {"", 1234, 5678, ""},
		"1234:admins": {"", 1234, 60, ""},
	} {
		if got, err := Resolve(text, read); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "nobody", "app:nogroup", "bad", "-1", "4294967296"} {
		if got, err := Resolve(text, read); err == nil || !strings.Contains(err.Error(), "/etc/passwd") {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	files = nil
	if got, err := Resolve("1000:7", read); err != nil || got != (Account{UID: 1000, GID: 7}) {
		t.Errorf("without files: got %+v, %v", got, err)
	}
	failed := errors.New("broken")
	if _, err := Resolve("app", func(string) (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
