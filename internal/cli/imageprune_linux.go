package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox/engine/native"
)

func newImagePrune(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "prune [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Remove layers that no image and no sandbox needs",
		Example:               "hermes image prune\nhermes image prune --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runImagePrune(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runImagePrune(ctx context.Context, a *app, asJSON bool) error {
	_, home, err := a.images()
	if err != nil {
		return err
	}
	layers, err := native.CollectImages(ctx, home)
	switch {
	case err != nil:
		return cannot("prune images", err)
	case asJSON:
		return writeJSON(a.stdout, map[string]int{"layers": layers})
	}
	_, err = fmt.Fprintln(a.stdout, "removed", plural(layers, "layer", "layers"))
	return err
}
