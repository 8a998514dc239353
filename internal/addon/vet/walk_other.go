//go:build !linux

package vet

import "errors"

// walk is only where there is a store.
func walk(string) (*contents, error) { return nil, errors.ErrUnsupported }
