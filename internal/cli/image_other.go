//go:build !linux

package cli

import "github.com/spf13/cobra"

// addImages has nothing to add: only native sandboxes have images of ours.
func addImages(*app, *cobra.Command) {}
