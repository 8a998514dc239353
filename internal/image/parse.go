package image

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Source is where an image is fetched from.
type Source struct {
	kind kind
	path string // of a layout or an archive
	ref  string // in a registry; in a layout or an archive with several images, which one
}

type kind int

const (
	remoteKind kind = iota
	layoutKind
	archiveKind
)

// Parse understands a registry reference, "oci:DIRECTORY" and "archive:FILE"; the latter two may name one of
// several images by a "#NAME" at the end.
func Parse(text string) (Source, error) {
	prefix, rest, _ := strings.Cut(text, ":")
	var s Source
	switch prefix {
	case "oci":
		s.kind = layoutKind
	case "archive":
		s.kind = archiveKind
	default:
		ref, err := name.ParseReference(text)
		if err != nil {
			return s, fmt.Errorf("cannot read the image name %q: %w; give NAME[:TAG], oci:DIRECTORY or archive:FILE", text, err)
		}
		return Source{ref: ref.Name()}, nil
	}
	s.path, s.ref, _ = strings.Cut(rest, "#")
	if s.path == "" {
		return s, fmt.Errorf("cannot read the image name %q: no path follows %q", text, prefix+":")
	}
	path, err := filepath.Abs(s.path)
	s.path = path
	return s, err
}

// IsFile says whether the image is a file or directory of this machine.
func (s Source) IsFile() bool { return s.kind != remoteKind }

// String is the form that Parse reads, with nothing left to guess.
func (s Source) String() string {
	text := s.ref
	if s.kind != remoteKind {
		text = map[kind]string{layoutKind: "oci:", archiveKind: "archive:"}[s.kind] + s.path
		if s.ref != "" {
			text += "#" + s.ref
		}
	}
	return text
}
