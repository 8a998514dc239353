//go:build !linux

package vet

import "errors"

// walk is only where there is a store.
func walk(string, func(string) bool) (*contents, error) { return nil, errors.ErrUnsupported }
