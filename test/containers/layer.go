//go:build linux

package containers

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// longAgo dates everything, so that the same files give the same digest.
var longAgo = time.Unix(1_000_000_000, 0).UTC()

// file is an entry of a layer. A name that ends in a slash is a directory; a link makes it a symbolic one.
type file struct {
	name, content, link string
	mode                int64 // 0755 unless given
	uid                 int   // of the group too
}

// shell is what every image that runs something has: busybox under all of its names.
func shell(t testing.TB) []file {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("busybox is not installed")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if needsLibraries(t, content) {
		t.Skip("busybox is not static: the package busybox-static has one that is")
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := []file{{name: "bin/"}, {name: "bin/busybox", content: string(content)}}
	for _, name := range strings.Fields(string(names)) {
		if name != "busybox" {
			files = append(files, file{name: "bin/" + name, link: "busybox"})
		}
	}
	return files
}

func needsLibraries(t testing.TB, program []byte) bool {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatalf("busybox is not a program: %v", err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

// home is the directories and files that programs expect beside themselves.
func home() []file {
	return []file{
		{name: "etc/"}, {name: "root/", mode: 0o700}, {name: "tmp/", mode: 0o1777}, {name: "var/"}, {name: "var/tmp/", mode: 0o1777},
		{name: "etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nagent:x:1234:1234:agent:/home/agent:/bin/sh\n", mode: 0o644},
		{name: "etc/group", content: "root:x:0:\nagent:x:1234:\n", mode: 0o644},
		{name: "home/"}, {name: "home/agent/", uid: 1234},
	}
}

// withShell is a layer of a shell and what is given.
func withShell(more ...file) func(testing.TB) layer {
	return func(t testing.TB) layer { return pack(t, append(shell(t), more...)) }
}

// only is a layer of what is given and nothing else.
func only(files ...file) func(testing.TB) layer {
	return func(t testing.TB) layer { return pack(t, files) }
}

func pack(t testing.TB, files []file) layer {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.uid, ModTime: longAgo, Typeflag: tar.TypeReg}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		default:
			h.Size = int64(len(f.content))
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	return layer{
		digest: fmt.Sprintf("%x", sha256.Sum256(content)),
		size:   int64(len(content)),
		open:   func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}
