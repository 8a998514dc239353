//go:build linux

package unpack_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/treetest"
)

// The unpacker runs beside outside/secret; into checks after every case that it is as it was.
func TestHostileArchivesAreRefused(t *testing.T) {
	link := func(name, to string) item { return item{Name: name, Typeflag: tar.TypeSymlink, Link: to} }
	hard := func(name, to string) item { return item{Name: name, Typeflag: tar.TypeLink, Link: to} }
	for name, c := range map[string]struct {
		items []item
		why   string
	}{
		"dots":                        {[]item{{Name: "../outside/secret", Content: "x"}}, "leads out"},
		"dots in the middle":          {[]item{{Name: "a/"}, {Name: "a/../../outside/secret", Content: "x"}}, "leads out"},
		"dots after a slash":          {[]item{{Name: "/../outside/secret", Content: "x"}}, "leads out"},
		"dots at the end":             {[]item{{Name: "a/"}, {Name: "a/..", Typeflag: tar.TypeSymlink, Link: "x"}}, "leads out"},
		"hard link by dots":           {[]item{hard("l", "../outside/secret")}, "leads out"},
		"hard link by absolute name":  {[]item{hard("l", "/proc/self/environ")}, "not in this layer"},
		"hard link through a link":    {[]item{link("o", "../outside"), hard("l", "o/secret")}, "not in this layer"},
		"hard link to a directory":    {[]item{{Name: "d/"}, hard("l", "d")}, "cannot have two names"},
		"hard link to the root":       {[]item{hard("l", "./")}, "not in this layer"},
		"link to nowhere as parent":   {[]item{link("o", "../outside"), {Name: "o/secret", Content: "x"}}, "link to nowhere"},
		"links in a circle as parent": {[]item{link("a", "b"), link("b", "a"), {Name: "a/f"}}, "circle"},
		"file as parent":              {[]item{{Name: "f"}, {Name: "f/g"}}, "cannot hold entries"},
		"file in place of the root":   {[]item{{Name: "./", Typeflag: tar.TypeSymlink, Link: "../outside"}}, "replace the root"},
		"file in place of a full dir": {[]item{{Name: "d/f"}, {Name: "d", Content: "x"}}, "not empty"},
		"link in place of a full dir": {[]item{{Name: "d/f"}, link("d", "../outside")}, "not empty"},
		"whiteout of the root":        {[]item{{Name: ".wh."}}, "marks no file"},
		"whiteout of the parent":      {[]item{{Name: "a/.wh..."}}, "marks no file"},
		"file below a whiteout":       {[]item{{Name: ".wh.a/b"}}, "below a file that marks"},
		"name of 5,000 bytes":         {[]item{{Name: strings.Repeat("a/", 2500) + "f"}}, "longer than"},
		"depth":                       {[]item{{Name: strings.Repeat("a/", 300) + "f"}}, "deeper than"},
		"impossible owner":            {[]item{{Name: "f", UID: 1 << 32}}, "impossible user"},
		"owner -1":                    {[]item{{Name: "f", GID: 1<<32 - 1}}, "impossible user"},
		"link to nothing":             {[]item{link("l", "")}, "link to nothing"},
		"unknown type":                {[]item{{Name: "f", Typeflag: 'Z'}}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			// An owner of our choice would hide what the archive asks for.
			o := unpack.Options{}
			if os.Getuid() != 0 && strings.Contains(name, "owner") {
				t.Skip("needs root: others never keep the archive's owners")
			}
			_, _, err := into(t, archive(t, c.items...), o)
			refused(t, err, c.why)
		})
	}
}

// What looks like a way out, but is only unusual, stays inside.
func TestHostileArchivesAreContained(t *testing.T) {
	link := func(name, to string) item { return item{Name: name, Typeflag: tar.TypeSymlink, Link: to} }
	file := func(name string) item { return item{Name: name, Content: "evil"} }
	for name, c := range map[string]struct {
		items []item
		at    string // where the evil content must be
	}{
		"absolute name":              {[]item{file("/outside/secret")}, "outside/secret"},
		"many slashes":               {[]item{file("//..a///./f")}, "..a/f"},
		"write through a link":       {[]item{{Name: "outside/"}, link("o", "../outside"), file("o/secret")}, "outside/secret"},
		"through an absolute link":   {[]item{{Name: "outside/"}, link("o", "/outside"), file("o/secret")}, "outside/secret"},
		"through many dots":          {[]item{{Name: "outside/"}, link("o", "../../../../../../outside"), file("o/secret")}, "outside/secret"},
		"through two links":          {[]item{{Name: "outside/"}, link("a", ".."), link("b", "a/outside"), file("b/secret")}, "outside/secret"},
		"file in place of a link":    {[]item{link("f", "../outside/secret"), file("f")}, "f"},
		"dir in place of a link":     {[]item{link("d", "../outside"), {Name: "d/"}, file("d/secret")}, "d/secret"},
		"link, then dir through it":  {[]item{{Name: "outside/"}, link("d", "../outside"), {Name: "d/sub/", Mode: 0o777}, file("d/sub/f")}, "outside/sub/f"},
		"file in place of hardlink":  {[]item{{Name: "a", Content: "a"}, {Name: "b", Typeflag: tar.TypeLink, Link: "a"}, file("b")}, "b"},
		"hard link to a link":        {[]item{link("l", "../outside/secret"), {Name: "m", Typeflag: tar.TypeLink, Link: "l"}, file("m")}, "m"},
		"hard link to itself":        {[]item{file("f"), {Name: "./f", Typeflag: tar.TypeLink, Link: "/f"}}, "f"},
		"twice the same":             {[]item{{Name: "f", Content: "first", Mode: 0o777}, file("f")}, "f"},
		"file in place of empty dir": {[]item{{Name: "d/"}, file("d")}, "d"},
		"dir swapped for a link after use": {[]item{file("d/x/f"), {Name: "e/"}, link("e", "../outside"), {Name: "outside/"},
			file("e/secret")}, "outside/secret"},
		"link swapped while in use": {[]item{{Name: "d/"}, link("d/l", "."), {Name: "d/l/one", Content: "1"}, {Name: "d/l/l", Typeflag: tar.TypeDir},
			file("d/l/two")}, "d/l/two"},
		"case tricks":      {[]item{link("Dir", "../outside"), {Name: "dir/"}, file("dir/secret")}, "dir/secret"},
		"case of whiteout": {[]item{file(".WH.secret")}, ".WH.secret"},
		"backslashes":      {[]item{file(`..\outside\secret`)}, `..\outside\secret`},
		"proc":             {[]item{{Name: "proc/"}, link("p", "/proc/self/cwd"), file("proc/self")}, "proc/self"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, err := into(t, archive(t, c.items...), unpack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			treetest.Holds(t, filepath.Join(dir, c.at), "evil")
		})
	}
}

// Attributes of the archive must not speak to overlayfs, and labels are the machine's.
func TestForeignAttributesAreLeftOut(t *testing.T) {
	pax := map[string]string{}
	for _, name := range []string{"user.overlay.redirect", "user.overlay.opaque", "trusted.overlay.redirect", "trusted.x", "security.selinux", "user.fine"} {
		pax[paxXattr+name] = "y"
	}
	dir := unpacked(t, unpack.Options{}, item{Name: "d/", PAX: pax}, item{Name: "f", PAX: pax})
	for _, path := range []string{"/d", "/f"} {
		for key := range pax {
			name := strings.TrimPrefix(key, paxXattr)
			if got := xattr(dir+path, name); (got == "y") != (name == "user.fine") {
				t.Errorf("%s has %s=%s", path, name, got)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	many := make([]item, 101)
	for i := range many {
		many[i] = item{Name: fmt.Sprint(i)}
	}
	limits := unpack.Limits{Bytes: 1 << 20, Entries: 100, Depth: 3}
	for name, c := range map[string]struct {
		blob []byte
		why  string
	}{
		"bytes":       {archive(t, item{Name: "a", Content: strings.Repeat("x", 600_000)}, item{Name: "b", Content: strings.Repeat("x", 600_000)}), "more than 1048576 bytes"},
		"entries":     {archive(t, many...), "more than 100 entries"},
		"depth":       {archive(t, item{Name: "1/2/3/4"}), "deeper than 3"},
		"gzip bomb":   {gzipped(t, append(archive(t, item{Name: "f"}), make([]byte, 20<<20)...)), "larger than 1048576"},
		"zstd bomb":   {zstded(t, append(archive(t, item{Name: "f"}), make([]byte, 20<<20)...)), "larger than 1048576"},
		"sparse bomb": {sparseBomb(), "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := into(t, c.blob, unpack.Options{Limits: limits})
			refused(t, err, c.why)
		})
	}
	if _, _, err := into(t, archive(t, item{Name: "1/2/3", Content: strings.Repeat("x", 1_000_000)}), unpack.Options{Limits: limits}); err != nil {
		t.Errorf("what is within the limits: %v", err)
	}
}

// sparseBomb is one old-style header that promises 2^62 bytes and holds none.
func sparseBomb() []byte {
	return rawHeader('S', "00000000000", func(block []byte) {
		huge := []byte{0x80, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0}
		copy(block[257:], "ustar  \x00")
		copy(block[386:], huge)              // a fragment at the end,
		copy(block[398:], "00000000000\x00") // of no bytes
		copy(block[483:], huge)
	})
}

// rawHeader makes what archive/tar would not write: one header and the end of the archive.
func rawHeader(typ byte, size string, change func([]byte)) []byte {
	block := make([]byte, 3*512)
	copy(block, "bomb")
	copy(block[100:], "0000644\x000000000\x000000000\x00"+size+"\x0000000000000\x00")
	block[156] = typ
	copy(block[257:], "ustar\x0000")
	change(block)
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block[:512] {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return block
}

func TestDamagedStreams(t *testing.T) {
	good := archive(t, item{Name: "f", Content: strings.Repeat("text ", 10_000)})
	flipped := gzipped(t, good)
	flipped[len(flipped)-6] ^= 1
	const size = 2 << 20
	hugeHeader := rawHeader('x', fmt.Sprintf("%011o", size), func([]byte) {})[:512]
	hugeHeader = append(append(hugeHeader, fmt.Sprintf("%d comment=%s\n", size, strings.Repeat("x", size-17))...), good...)
	for name, blob := range map[string][]byte{
		"cut tar": good[:20_000], "cut gzip": gzipped(t, good)[:60], "cut zstd": zstded(t, good)[:20], "flipped bit": flipped,
		"no tar": bytes.Repeat([]byte("not a tar. "), 100), "xz": []byte("\xfd7zXZ\x00 and so on"), "header of 2 MiB": hugeHeader,
	} {
		if _, _, err := into(t, blob, unpack.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
