//go:build !unix

package atomicfile

// unsupported is always true where directories cannot be synchronised at all.
func unsupported(error) bool { return true }
