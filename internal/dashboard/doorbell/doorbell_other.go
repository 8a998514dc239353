//go:build !linux

package doorbell

import "context"

// Bell is none: who is at the other end of a socket is known on Linux only.
type Bell struct{}

// Hang hangs nothing.
func Hang(string) (*Bell, error) { return nil, nil }

// Close takes nothing down.
func (*Bell) Close() {}

// Answer returns when ctx ends.
func (*Bell) Answer(ctx context.Context, _ func() string) { <-ctx.Done() }

// Ring finds nobody.
func Ring(context.Context, string) (string, error) { return "", ErrNobody }
