package cli

import (
	"strings"
	"testing"
)

func TestACopyGoesWhereCpWouldPutIt(t *testing.T) {
	exists := map[string]bool{"/dir": true, "/dir/": true, "/file": false} // and whether it is a directory
	stat := func(path string) (bool, bool, error) {
		isDir, found := exists[path]
		return found, isDir, nil
	}
	for _, c := range []struct {
		source, to string
		isDir      bool
		want       plan
		wrong      string
	}{
		{source: "a", to: "/dir", want: plan{dir: "/dir", as: "a"}},
		{source: "x/a", to: "/dir/", want: plan{dir: "/dir/", as: "a"}},
		{source: "a", to: "/dir", isDir: true, want: plan{dir: "/dir", as: "a"}},
		{source: "a/", to: "/dir", isDir: true, want: plan{dir: "/dir", as: "a"}},
		{source: "a/.", to: "/dir", isDir: true, want: plan{dir: "/dir"}},
		{source: ".", to: "/dir", isDir: true, want: plan{dir: "/dir"}},
		{source: "/", to: "/dir", isDir: true, want: plan{dir: "/dir"}},
		{source: "a", to: "/dir/new", want: plan{dir: "/dir/", as: "new"}},
		{source: "a", to: "new", want: plan{dir: ".", as: "new"}},
		{source: "a", to: "/new/", isDir: true, want: plan{dir: "/", as: "new"}},
		{source: "a/.", to: "/new", isDir: true, want: plan{dir: "/new", makeDir: true}},
		{source: "a", to: "/file", want: plan{dir: "/", as: "file"}},
		{source: "a", to: "/file", isDir: true, wrong: "by a directory"},
		{source: "a", to: "/new/", wrong: "no such directory"},
		{source: "a/.", to: "/dir", wrong: "not a directory"},
		{source: "a", to: "/new/..", isDir: true, wrong: "names no file"},
	} {
		got, err := (&copying{}).plan(sourceName(c.source), c.isDir, c.to, stat)
		if c.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s to %s: %+v, %v", c.source, c.to, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s to %s: %+v, %v", c.source, c.to, got, err)
		}
	}
}

func TestPathsInsideBeginWhereCommandsRun(t *testing.T) {
	for given, want := range map[string]string{
		"": ".", ":": ".", ":a/b": "a/b", "a/": "a/", ":/etc": "/etc", "/": "/", "./x": "./x", "::a": ":a",
	} {
		if got := insidePath(given); got != want {
			t.Errorf("%q is %q", given, got)
		}
	}
}
