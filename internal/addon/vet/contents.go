package vet

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"hermes.example/hermes/internal/addon/manifest"
)

// contents is a tree as it was found, and what was found against it.
type contents struct {
	files         map[string]*file
	directories   []string
	distributions []*distribution
	owners        map[string]*distribution // of a file, by RECORD; the first one's where there are several
	problems      []Problem
	ours          func(bytecode string) bool
}

// file is one file of the tree.
type file struct {
	manifest.File
	content []byte // only of metadata
}

func (f *file) describe(content []byte) {
	f.Size = int64(len(content))
	f.SHA256 = fmt.Sprintf("%x", sha256.Sum256(content))
}

func (t *contents) refuse(rule Rule, file, why string, args ...any) {
	owner := t.owners[file]
	if owner == nil {
		owner = t.metadataOf(file)
	}
	t.problems = append(t.problems, Problem{rule, file, owner.String(), fmt.Sprintf(why, args...)})
}

// isMetadata says whether a file says something about a distribution that has to be read.
func isMetadata(name string) bool {
	dir, base := path.Split(name)
	if !isDistInfo(strings.TrimSuffix(dir, "/")) {
		return false
	}
	return base == "METADATA" || base == "RECORD" || base == "entry_points.txt"
}

// unfit says why a name would not survive a manifest, an archive or another file system.
func unfit(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "its name has control characters"
	case strings.ContainsRune(name, '\\'):
		return "its name has a backslash, which elsewhere separates directories"
	}
	return ""
}
