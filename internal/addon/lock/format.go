package lock

import (
	"fmt"
	"strings"
)

// format is written at the top of every lock, so that a later one can differ.
const format = "# hermes-lock 1"

// The comments of a lock's head, in their order.
var head = []struct {
	name  string
	field func(*Lock) *string
}{
	{"feature", func(l *Lock) *string { return &l.Feature }},
	{"abi", func(l *Lock) *string { return &l.Tag }},
	{"kind", func(l *Lock) *string { return (*string)(&l.Kind) }},
	{"specs", func(l *Lock) *string { return &l.Specs }},
}

// built is the comment above a package that has no wheel.
const built = "# built from source"

// Format is the lock as a file.
func (l Lock) Format() []byte {
	var b strings.Builder
	fmt.Fprintln(&b, format)
	for _, h := range head {
		fmt.Fprintf(&b, "# %s: %s\n", h.name, *h.field(&l))
	}
	b.Write(Requirements(l.Packages))
	return []byte(b.String())
}

// Requirements are packages as the file that uv and pip are given.
func Requirements(packages []Package) []byte {
	var b strings.Builder
	for _, p := range packages {
		if p.Size > 0 {
			fmt.Fprintf(&b, "# %d bytes\n", p.Size)
		}
		if p.Source {
			fmt.Fprintln(&b, built)
		}
		b.WriteString(p.String())
		for _, hash := range p.Hashes {
			b.WriteString(" \\\n    --hash=" + hash)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
