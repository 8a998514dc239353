//go:build !unix

package cli

// watchSize does nothing: this system does not tell when a terminal's size changes.
func watchSize(func()) (stop func()) { return func() {} }
