//go:build !linux

package seccomp

import "errors"

// Load refuses: only Linux has seccomp. Filter is missing here because its
// result type is Linux's own.
func Load(flags uintptr) error {
	return errors.New("cannot load the syscall filter: this is not Linux")
}

// Digest returns "": there is no filter here.
func Digest() string { return "" }
