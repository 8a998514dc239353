package accounts

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

func TestMemberships(t *testing.T) {
	text := "root:x:0:app\nvideo:x:44:other,app\nagain:x:44:app\nodd:x:-1:app\nword:x:many:app\nshort:x:7\nappendix:x:8:apple,anapp\nlast:x:9:app"
	read := func(string) (string, error) { return text, nil }
	if got, err := Memberships("app", read); err != nil || !slices.Equal(got, []int{0, 9, 44}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := Memberships("nobody", read); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := Memberships("app", func(string) (string, error) { return "", fs.ErrNotExist }); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	failed := errors.New("broken")
	if _, err := Memberships("app", func(string) (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
