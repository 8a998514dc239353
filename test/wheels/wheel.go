// Package wheels makes Python wheels for tests, honest ones and hostile ones, and serves them as a package index
// that misbehaves on request. Real uv and real pip install from it; nothing leaves the machine.
//
// The same Wheel gives the same bytes, so a test may hold its hash against a lock.
package wheels

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Wheel is what a wheel is made of. Name and Version are enough for one that is valid and has nothing in it.
type Wheel struct {
	Name, Version string
	Tag           string   // "py3-none-any" unless it is set
	Requires      []string // as in METADATA: "httpx>=0.28; extra == 'x'"
	License       string   // an SPDX expression
	Python        string   // Requires-Python
	// Files are modules and data by their path in site-packages. A path that looks like another distribution's
	// metadata is written as any other: this is how one wheel brings two.
	Files map[string]string
	// Scripts are files that an installer puts beside the interpreter, by their names.
	Scripts map[string]string
	// EntryPoints are "name = module:function", by group; "console_scripts" become scripts.
	EntryPoints map[string][]string
	// Uploaded is what an index says of it.
	Uploaded time.Time

	// Hostile are entries that are written as they are, whatever their names and modes.
	Hostile []Entry
	// Record and Metadata change these two files before they are written. What becomes empty is left out.
	Record, Metadata func(string) string
}

// Entry is one of a wheel's archive.
type Entry struct {
	Name    string
	Content string      // of a symbolic link: where it points
	Mode    os.FileMode // a plain file's unless it is set
	// Unlisted keeps it out of RECORD.
	Unlisted bool
}

// Gone leaves out the file that it changes.
func Gone(string) string { return "" }

// Swap changes the file by replacing text.
func Swap(old, with string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, with) }
}

// Build writes the wheel into a directory of its own and returns its path.
func Build(t testing.TB, w Wheel) string {
	t.Helper()
	return filepath.Join(Dir(t, w), w.FileName())
}

// Dir writes the wheels into one new directory, as --find-links wants them.
func Dir(t testing.TB, all ...Wheel) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range all {
		if err := os.WriteFile(filepath.Join(dir, w.FileName()), w.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// FileName is the name of the wheel's file.
func (w Wheel) FileName() string {
	return w.stem() + "-" + cmp.Or(w.Tag, "py3-none-any") + ".whl"
}

// Hash is what a lock has for it, "sha256:…".
func (w Wheel) Hash() string {
	sum := sha256.Sum256(w.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Pin is the line of a requirements file that allows this wheel and no other file.
func (w Wheel) Pin() string {
	return fmt.Sprintf("%s==%s --hash=%s", w.Name, w.Version, w.Hash())
}

// DistInfo is the name of the directory with its metadata.
func (w Wheel) DistInfo() string { return w.stem() + ".dist-info" }

func (w Wheel) stem() string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(w.Name)) + "-" + w.Version
}

// Bytes are the whole archive.
func (w Wheel) Bytes() []byte {
	var entries []Entry
	add := func(name, content string, mode os.FileMode) {
		if content != "" || !strings.HasPrefix(name, w.DistInfo()) {
			entries = append(entries, Entry{Name: name, Content: content, Mode: mode})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		add(name, w.Files[name], 0o644)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Scripts)) {
		add(w.stem()+".data/scripts/"+name, w.Scripts[name], 0o755)
	}
	add(w.DistInfo()+"/METADATA", changed(w.metadata(), w.Metadata), 0o644)
	add(w.DistInfo()+"/WHEEL", w.wheel(), 0o644)
	add(w.DistInfo()+"/entry_points.txt", w.entryPoints(), 0o644)
	entries = append(entries, w.Hostile...)
	if record := changed(record(entries, w.DistInfo()), w.Record); record != "" {
		entries = append(entries, Entry{Name: w.DistInfo() + "/RECORD", Content: record, Mode: 0o644})
	}
	return archive(entries)
}

func changed(content string, change func(string) string) string {
	if change == nil {
		return content
	}
	return change(content)
}

func (w Wheel) metadata() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Metadata-Version: 2.4\nName: %s\nVersion: %s\n", w.Name, w.Version)
	if w.License != "" {
		fmt.Fprintf(&b, "License-Expression: %s\n", w.License)
	}
	if w.Python != "" {
		fmt.Fprintf(&b, "Requires-Python: %s\n", w.Python)
	}
	for _, r := range w.Requires {
		fmt.Fprintf(&b, "Requires-Dist: %s\n", r)
	}
	return b.String()
}

func (w Wheel) wheel() string {
	return "Wheel-Version: 1.0\nGenerator: hermes-test\nRoot-Is-Purelib: true\nTag: " + cmp.Or(w.Tag, "py3-none-any") + "\n"
}

func (w Wheel) entryPoints() string {
	var b strings.Builder
	for _, group := range slices.Sorted(maps.Keys(w.EntryPoints)) {
		fmt.Fprintf(&b, "[%s]\n%s\n", group, strings.Join(w.EntryPoints[group], "\n"))
	}
	return b.String()
}
