//go:build linux

package unpack

import (
	"strings"

	"hermes.example/hermes/internal/rooted"
)

// A name that begins with hidden hides the rest of it in the layers below; one that begins with hidden twice
// is a note of the tool that wrote the layer, of which one concerns us.
const (
	hidden = ".wh."
	opaque = ".wh..wh..opq"
)

// marker says whether a path lies in something that only stands for the absence of a file. Notes of tools are
// skipped; a file below the mark of an absent one makes no sense.
func marker(path string) (skip bool, err error) {
	dir, base := rooted.Split(path)
	for part := range strings.SplitSeq(dir, "/") {
		switch {
		case strings.HasPrefix(part, hidden+hidden):
			return true, nil
		case strings.HasPrefix(part, hidden):
			return false, refuse(path, "it lies below a file that marks another one as removed")
		}
	}
	return strings.HasPrefix(base, hidden+hidden) && base != opaque, nil
}
