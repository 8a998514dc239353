//go:build !linux

package cli

import "hermes.example/hermes/internal/survey"

// supervisor is nobody: services are supervised on Linux only.
func (a *app) supervisor() survey.Supervised { return nil }

// profiles names the one that is meant: homes with several are on Linux only.
func (g agent) profiles() ([]string, error) { return []string{g.name}, nil }
