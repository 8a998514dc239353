//go:build !linux

package bench

import (
	"context"
	"errors"
)

// Options of a run.
type Options struct {
	Rounds   int
	Quick    bool
	Hermes   string
	Progress func(what string)
}

// Run fails: what it measures is the native engine.
func Run(context.Context, Options) (Report, error) {
	return Report{}, errors.New("cannot measure anything here: the native engine needs Linux")
}

func user() string { return "" }
