//go:build !unix

package sealed

// trusted is not asked where files have no owner and mode of this kind.
func trusted(...string) error { return nil }
