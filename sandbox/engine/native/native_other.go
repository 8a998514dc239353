//go:build !linux

package native

import (
	"errors"

	"hermes.example/hermes/sandbox"
)

// New fails: the native engine is made of Linux.
func New(Options) (sandbox.Engine, error) {
	return nil, errors.New("the native engine needs Linux; use another engine on this system")
}
