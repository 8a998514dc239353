//go:build !linux

package keeper

import (
	"context"
	"errors"
	"io/fs"
	"runtime"

	"hermes.example/hermes/internal/version"
)

func (k Keeper) start(context.Context, string) error {
	return errors.New("there is no keeper on " + runtime.GOOS)
}

func isNobody(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Build is what tells this program from any other.
func Build() string { return version.Current().String() }
