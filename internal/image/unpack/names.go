//go:build linux

package unpack

import (
	"fmt"
	"strings"
)

// A name that begins with hidden hides the rest of it in the layers below; one that begins with hidden twice
// is a note of the tool that wrote the layer, of which one concerns us.
const (
	hidden = ".wh."
	opaque = ".wh..wh..opq"
)

// longest is what the kernel takes as one path.
const longest = 4095

// clean makes an entry's name relative to the root; the root itself is "". What would have to be understood
// by looking at the tree, such as links, is left to the kernel.
func clean(name string, depth int) (string, error) {
	if len(name) > longest {
		return "", &Refusal{name, fmt.Sprintf("its name is longer than %d bytes", longest)}
	}
	parts := make([]string, 0, 16)
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			return "", &Refusal{name, "its name leads out of its directory"}
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) > depth {
		return "", &Refusal{name, fmt.Sprintf("it lies deeper than %d directories", depth)}
	}
	return strings.Join(parts, "/"), nil
}

func split(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// marker says whether a path lies in something that only stands for the absence of a file. Notes of tools are
// skipped; a file below the mark of an absent one makes no sense.
func marker(path string) (skip bool, err error) {
	dir, base := split(path)
	for part := range strings.SplitSeq(dir, "/") {
		switch {
		case strings.HasPrefix(part, hidden+hidden):
			return true, nil
		case strings.HasPrefix(part, hidden):
			return false, &Refusal{path, "it lies below a file that marks another one as removed"}
		}
	}
	return strings.HasPrefix(base, hidden+hidden) && base != opaque, nil
}
