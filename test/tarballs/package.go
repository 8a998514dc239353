// Package tarballs makes packages of npm, honest and hostile, and a registry on the loopback interface that offers them,
// for tests.
package tarballs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
)

// Package is one version of a package.
type Package struct {
	Name, Version string
	Files         map[string]string
	Requires      map[string]string // names and ranges
	Bin           map[string]string
	Scripts       map[string]string
	Engine        string // the versions of Node.js that it is for
	License       string
	// Entries go into the archive as they are, after what is honest.
	Entries []Entry
	// Says is what its own package.json calls it, where that differs.
	Says string
}

// Entry is one of an archive, whatever its name.
type Entry struct {
	Name, Content, Link string
	Type                byte // tar's; 0: a file
	Mode                int64
}

// made is the time of every entry; an archive of the same content is the same file.
var made = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// about is its package.json, and what a registry says of it.
func (p Package) about() map[string]any {
	name := p.Name
	if p.Says != "" {
		name = p.Says
	}
	about := map[string]any{"name": name, "version": p.Version}
	for key, value := range map[string]map[string]string{"dependencies": p.Requires, "bin": p.Bin, "scripts": p.Scripts} {
		if len(value) > 0 {
			about[key] = value
		}
	}
	if p.Engine != "" {
		about["engines"] = map[string]string{"node": p.Engine}
	}
	if p.License != "" {
		about["license"] = p.License
	}
	return about
}

// Tarball is the archive.
func (p Package) Tarball() []byte {
	about, err := json.Marshal(p.about())
	must(err)
	entries := []Entry{{Name: "package/package.json", Content: string(about)}}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		entries = append(entries, Entry{Name: "package/" + name, Content: p.Files[name]})
	}
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	archive := tar.NewWriter(packed)
	for _, e := range append(entries, p.Entries...) {
		header := &tar.Header{Name: e.Name, Linkname: e.Link, Typeflag: e.Type, Mode: e.Mode, Size: int64(len(e.Content)), ModTime: made, Format: tar.FormatUSTAR}
		if header.Mode == 0 {
			header.Mode = 0o644
		}
		must(archive.WriteHeader(header))
		_, err := archive.Write([]byte(e.Content))
		must(err)
	}
	must(archive.Close())
	must(packed.Close())
	return b.Bytes()
}

// Integrity is that of the archive.
func (p Package) Integrity() string {
	sum := sha512.Sum512(p.Tarball())
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Tree is a lock in which all packages lie side by side.
func Tree(feature string, specs []string, all ...Package) lock.Tree {
	var nodes []lock.Node
	for _, p := range all {
		n := lock.Node{Path: p.Name, Version: p.Version, Integrity: p.Integrity(), Size: int64(len(p.Tarball())), Engine: p.Engine, Scripts: len(p.Scripts) > 0}
		n.Requires = slices.Sorted(maps.Keys(p.Requires))
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b lock.Node) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return lock.NewTree(feature, specs, nodes)
}

// NPM is the directory of a real npm and its node. The test is skipped where there is none.
func NPM(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"npm", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
	path, err := exec.LookPath("npm")
	must(err)
	return filepath.Dir(path)
}

// must is for writers into memory, which have no way to fail but a mistake in the test.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
