//go:build linux

// Package tartree copies trees of files as tar streams: Pack reads a tree, Unpack makes one. Either end may be
// hostile: the tree may change while it is read, and the stream may have been written by anybody.
//
// The guest uses it with the rights of a sandbox's commands, and the command line with its caller's, so both
// ends of a copy keep the same rules. It must never follow a link that it finds in a tree or a stream, never
// open what is neither a file nor a directory, and never hand a right on: owners, set-id bits and devices stay
// where they are.
package tartree

import (
	"fmt"

	"hermes.example/hermes/internal/rooted"
)

// Limits bound a copy. A zero means the default.
type Limits struct {
	Bytes   int64 // the sum of all sizes
	Entries int
}

// DefaultLimits are above what an agent's workspace holds, and below what fills a disk unseen.
var DefaultLimits = Limits{Bytes: 64 << 30, Entries: 1_000_000}

// depth is how many directories may lie in each other. Each one takes a descriptor while it is walked.
const depth = 255

// chunk is how much is read and written at a time: enough to make system calls cheap, and not more than the
// processor's cache holds.
const chunk = 256 << 10

// Result is what was copied, also when it ended with an error.
type Result struct {
	Bytes   int64
	Entries int
	// Skipped are devices, pipes and sockets, and what lies on the kernel's own file systems.
	Skipped int
	// Changed are files that became shorter while they were read; zeros stand for what was gone.
	Changed int
}

// TooLarge is a copy that reached one of its limits.
type TooLarge struct{ Limit string }

func (e *TooLarge) Error() string { return "it holds more than " + e.Limit }

// counter holds a copy to its limits.
type counter struct {
	limits Limits
	result Result
}

func newCounter(l Limits) counter {
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Entries <= 0 {
		l.Entries = DefaultLimits.Entries
	}
	return counter{limits: l}
}

// add counts an entry before anything of it is copied.
func (c *counter) add(size int64) error {
	if c.result.Entries >= c.limits.Entries {
		return &TooLarge{fmt.Sprintf("%d entries", c.limits.Entries)}
	}
	if size > c.limits.Bytes-c.result.Bytes {
		return &TooLarge{fmt.Sprintf("%d bytes", c.limits.Bytes)}
	}
	c.result.Entries++
	c.result.Bytes += size
	return nil
}

func refuse(entry, why string) error { return &rooted.Refusal{Entry: entry, Why: why} }
