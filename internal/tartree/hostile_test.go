//go:build linux

package tartree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/treetest"
)

func link(name, to string) item { return item{Name: name, Typeflag: tar.TypeSymlink, Link: to} }
func hard(name, to string) item { return item{Name: name, Typeflag: tar.TypeLink, Link: to} }
func file(name string) item     { return item{Name: name, Content: "evil"} }

func TestHostileStreamsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		items []item
		top   string
		why   string
	}{
		"dots":                           {items: []item{file("../outside/secret")}, why: "leads out"},
		"dots in the middle":             {items: []item{{Name: "a/"}, file("a/../../outside/secret")}, why: "leads out"},
		"dots after a slash":             {items: []item{file("/../outside/secret")}, why: "leads out"},
		"file through a link":            {items: []item{link("o", "../outside"), file("o/secret")}, why: "a link is where"},
		"file through an absolute link":  {items: []item{link("o", "/tmp"), file("o/secret")}, why: "a link is where"},
		"directory through a link":       {items: []item{link("o", "../outside"), {Name: "o/d/"}}, why: "a link is where"},
		"through a link that stays":      {items: []item{{Name: "d/"}, link("l", "d"), file("l/f")}, why: "a link is where"},
		"directory in place of a link":   {items: []item{link("o", "../outside"), {Name: "o/"}}, why: "in its place"},
		"links in a circle":              {items: []item{link("a", "b"), link("b", "a"), file("a/f")}, why: "a link is where"},
		"hard link by dots":              {items: []item{hard("l", "../outside/secret")}, why: "leads out"},
		"file as parent":                 {items: []item{file("f"), file("f/g")}, why: "cannot hold entries"},
		"file in place of a full dir":    {items: []item{file("d/f"), file("d")}, why: "a directory is in its place"},
		"link in place of a dir":         {items: []item{{Name: "d/"}, link("d", "../outside")}, why: "a directory is in its place"},
		"in place of the root":           {items: []item{{Name: "./", Typeflag: tar.TypeSymlink, Link: "../outside"}}, why: "replace the directory itself"},
		"name of 5,000 bytes":            {items: []item{file(strings.Repeat("a/", 2500) + "f")}, why: "longer than"},
		"depth":                          {items: []item{file(strings.Repeat("a/", 300) + "f")}, why: "deeper than"},
		"link to nothing":                {items: []item{link("l", "")}, why: "link to nothing"},
		"unknown type":                   {items: []item{{Name: "f", Typeflag: 'Z'}}, why: "unknown"},
		"beside the name asked for":      {items: []item{{Name: "a/"}, file("b")}, top: "a", why: "nobody asked"},
		"a longer name than asked for":   {items: []item{file("ab")}, top: "a", why: "nobody asked"},
		"the root, where a name is":      {items: []item{{Name: "./"}}, top: "a", why: "nobody asked"},
		"hard link beside what is asked": {items: []item{hard("a", "present")}, top: "a", why: "leads out"},
	} {
		t.Run(name, func(t *testing.T) {
			base, dir := treetest.Place(t)
			treetest.Write(t, filepath.Join(dir, "present"), "present")
			_, err := into(t, dir, archive(t, c.items...), Options{Top: c.top})
			refused(t, err, c.why)
			treetest.CheckOutside(t, base)
		})
	}
}

func TestHardLinksToTheOutsideFail(t *testing.T) {
	for _, items := range [][]item{
		{hard("l", "/proc/self/environ")},
		{link("o", "../outside"), hard("l", "o/secret")},
		{{Name: "d/"}, hard("l", "d")},
	} {
		base, dir := treetest.Place(t)
		if _, err := into(t, dir, archive(t, items...), Options{}); err == nil {
			t.Errorf("%+v: no error", items)
		}
		if _, err := os.Lstat(filepath.Join(dir, "l")); err == nil {
			t.Errorf("%+v: it was made", items)
		}
		treetest.CheckOutside(t, base)
	}
}

// What looks like a way out, but is only unusual, stays inside.
func TestHostileStreamsAreContained(t *testing.T) {
	for name, c := range map[string]struct {
		items []item
		at    string // where the evil content must be
	}{
		"absolute name":             {[]item{file("/outside/secret")}, "outside/secret"},
		"many slashes":              {[]item{file("//..a///./f")}, "..a/f"},
		"file in place of a link":   {[]item{link("f", "../outside/secret"), file("f")}, "f"},
		"file in place of hardlink": {[]item{{Name: "a", Content: "a"}, hard("b", "a"), file("b")}, "b"},
		"hard link to a link":       {[]item{link("l", "../outside/secret"), hard("m", "l"), file("m")}, "m"},
		"hard link to itself":       {[]item{file("f"), hard("./f", "/f")}, "f"},
		"twice the same":            {[]item{{Name: "f", Content: "first", Mode: 0o777}, file("f")}, "f"},
		"newline and bad UTF-8":     {[]item{file("a\nb\xff")}, "a\nb\xff"},
		"backslashes":               {[]item{file(`..\outside\secret`)}, `..\outside\secret`},
		"a directory comes back":    {[]item{{Name: "d/"}, {Name: "e/"}, file("d/f")}, "d/f"},
	} {
		t.Run(name, func(t *testing.T) {
			base, dir := treetest.Place(t)
			if _, err := into(t, dir, archive(t, c.items...), Options{}); err != nil {
				t.Fatal(err)
			}
			treetest.Holds(t, filepath.Join(dir, c.at), "evil")
			treetest.CheckOutside(t, base)
		})
	}
}

// A link that was there before the copy is not followed either.
func TestLinksOfTheDestinationAreNotFollowed(t *testing.T) {
	base, dir := treetest.Place(t)
	if err := errors.Join(os.Symlink("../outside", filepath.Join(dir, "d")), os.Symlink("../outside/secret", filepath.Join(dir, "f"))); err != nil {
		t.Fatal(err)
	}
	if _, err := into(t, dir, archive(t, file("f")), Options{}); err != nil {
		t.Error(err)
	}
	treetest.Holds(t, filepath.Join(dir, "f"), "evil")
	_, err := into(t, dir, archive(t, file("d/secret")), Options{})
	refused(t, err, "a link is where")
	treetest.CheckOutside(t, base)
}

// Rights stay behind: owners, set-id bits, devices.
func TestRightsAreNotCopied(t *testing.T) {
	_, dir := treetest.Place(t)
	res, err := into(t, dir, archive(t, item{Name: "suid", Content: "x", Mode: 0o6755}, item{Name: "dir/", Mode: 0o7755},
		item{Name: "null", Typeflag: tar.TypeChar}, item{Name: "sda", Typeflag: tar.TypeBlock}, item{Name: "pipe", Typeflag: tar.TypeFifo}), Options{})
	if err != nil || res.Skipped != 3 || res.Entries != 5 {
		t.Errorf("%+v, %v", res, err)
	}
	for name, want := range map[string]uint32{"suid": unix.S_IFREG | 0o755, "dir": unix.S_IFDIR | 0o755} {
		st := treetest.Stat(t, filepath.Join(dir, name))
		if st.Mode != want || int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid() {
			t.Errorf("%s: mode %o, owner %d:%d", name, st.Mode, st.Uid, st.Gid)
		}
	}
	if found := walk(t, dir); len(found) != 2 {
		t.Errorf("made %v", found)
	}
}

func TestLimitsOfAStream(t *testing.T) {
	many := make([]item, 11)
	for i := range many {
		many[i] = item{Name: fmt.Sprint(i), Content: "x"}
	}
	limits := Limits{Bytes: 1000, Entries: 10}
	for name, items := range map[string][]item{
		"entries": many, "bytes": {{Name: "a", Content: strings.Repeat("x", 600)}, {Name: "b", Content: strings.Repeat("x", 600)}},
	} {
		_, dir := treetest.Place(t)
		_, err := into(t, dir, archive(t, items...), Options{Limits: limits})
		var large *TooLarge
		if !errors.As(err, &large) {
			t.Errorf("%s: %v", name, err)
		}
		// What was whole before stays, and nothing of what was not.
		if found := walk(t, dir); len(found) != len(items)-1 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestAStreamThatIsCutOffLeavesWholeFilesOnly(t *testing.T) {
	blob := archive(t, item{Name: "whole", Content: "whole"}, item{Name: "half", Content: strings.Repeat("x", 100_000)})
	for name, b := range map[string][]byte{"in a file": blob[:50_000], "in a header": blob[:1200], "no tar": bytes.Repeat([]byte("not a tar. "), 200)} {
		_, dir := treetest.Place(t)
		treetest.Write(t, filepath.Join(dir, "half"), "as it was")
		_, err := into(t, dir, b, Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		treetest.Holds(t, filepath.Join(dir, "half"), "as it was")
		if name == "in a file" && (!strings.Contains(err.Error(), `"half"`) || !strings.Contains(err.Error(), "too early")) {
			t.Errorf("it does not say where it stopped: %v", err)
		}
		if name != "no tar" {
			treetest.Holds(t, filepath.Join(dir, "whole"), "whole")
		}
	}
}

func TestAStreamThatGoesOnAfterItsEnd(t *testing.T) {
	_, dir := treetest.Place(t)
	_, err := Unpack(openPath(t, dir), io.MultiReader(bytes.NewReader(archive(t, file("f"))), endless{}), Options{})
	refused(t, err, "after its end")
	treetest.Holds(t, filepath.Join(dir, "f"), "evil")
	if _, err := into(t, dir, append(archive(t, file("f")), make([]byte, 1<<20)...), Options{}); err != nil {
		t.Errorf("padding: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
