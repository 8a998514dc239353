// Package seccomp owns the syscall filter of every sandboxed command: which
// calls it may make, and what the kernel answers to the others.
//
// The filter is moby's default profile, resolved at build time for our
// capabilities and one architecture, with the few hardenings that gen/harden.go
// lists. The generator does all the thinking; what is linked into a program is
// a table of about a hundred instructions, because hermes-guest is PID 1 of every
// sandbox and must stay small.
//
// hermes-guest calls Load on a locked thread as one of the last steps before
// the exec of a command; the posture report names the filter by Digest.
//
// The package must never import moby, a BPF compiler or anything beyond the
// standard library and x/sys/unix outside of gen and the tests, must never
// decide at run time what a filter contains, and must never fall back to a
// weaker filter: a filter that cannot be installed is an error.
package seccomp

//go:generate go run ./gen
