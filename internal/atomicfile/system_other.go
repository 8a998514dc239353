//go:build !unix

package atomicfile

const nonblocking = 0

// unsupported is always true where directories cannot be synchronised at all.
func unsupported(error) bool { return true }
