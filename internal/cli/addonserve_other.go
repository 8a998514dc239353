//go:build !linux

package cli

import "github.com/spf13/cobra"

// addAddonServe has nothing to add: backends run on Linux only.
func addAddonServe(*app, *cobra.Command) {}
