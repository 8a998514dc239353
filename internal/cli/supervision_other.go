//go:build !linux

package cli

import "github.com/spf13/cobra"

// addSupervision has nothing to add: services are supervised on Linux only.
func addSupervision(*app, *cobra.Command) {}
