//go:build !linux

package bench

import (
	"context"
	"errors"
	"io"
)

// Run fails: what it measures is the native engine.
func Run(context.Context, Options) (Report, error) {
	return Report{}, errors.New("cannot measure anything here: the native engine needs Linux")
}

// Supervisor fails for the same reason.
func Supervisor(io.Reader, io.Writer) error {
	return errors.New("cannot measure anything here: the supervisor needs Linux")
}

func user() string { return "" }
