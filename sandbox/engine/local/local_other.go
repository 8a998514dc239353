//go:build !linux

package local

import (
	"errors"

	"hermes.example/hermes/sandbox"
)

// New fails: the local engine is made of Linux, too.
func New(Options) (sandbox.Engine, error) {
	return nil, errors.New("the local engine needs Linux; use another engine on this system")
}
