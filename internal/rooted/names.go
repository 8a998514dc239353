//go:build linux

package rooted

import (
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Refusal is the error of a name, or of an archive, that asks for something that it may not.
type Refusal struct{ Entry, Why string }

func (r *Refusal) Error() string {
	if r.Entry == "" {
		return "refused the archive: " + r.Why
	}
	return fmt.Sprintf("refused %.200q: %s", r.Entry, r.Why)
}

// LongestName is what the kernel takes as one path.
const LongestName = 4095

// Clean makes an entry's name relative to the root; the root itself is "". What would have to be understood
// by looking at the tree, such as links, is left to the kernel.
func Clean(name string, depth int) (string, error) {
	if len(name) > LongestName {
		return "", &Refusal{name, fmt.Sprintf("its name is longer than %d bytes", LongestName)}
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

// Split cuts a clean name into the directory and the entry in it.
func Split(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// Depth is how many directories lie between the root and the end of a clean name.
func Depth(name string) int {
	if name == "" {
		return 0
	}
	return 1 + strings.Count(name, "/")
}

// Temporary is the beginning of names for files that are not whole yet. Nobody has guessed it.
func Temporary() (string, error) {
	// Not by crypto/rand, which draws thirty packages into the guest.
	var random [16]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return "", err
	}
	return ".hermes-" + hex.EncodeToString(random[:]), nil
}
