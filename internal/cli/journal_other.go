//go:build !linux

package cli

func (*app) journaled() bool { return false }
