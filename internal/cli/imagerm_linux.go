package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/sandbox/engine/native"
)

func newImageRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "rm NAME…",
		DisableFlagsInUseLine: true,
		Short:                 "Remove images",
		Long:                  "Removes the names of images, and the layers that nothing else needs. Sandboxes keep what they are made of.",
		Example:               "hermes image rm docker.io/library/debian:12\nhermes image rm archive:./debian.tar docker.io/library/busybox",
		ValidArgsFunction:     a.completeImages,
		RunE:                  func(cmd *cobra.Command, args []string) error { return runImageRm(cmd.Context(), a, args) },
	}
}

func runImageRm(ctx context.Context, a *app, names []string) error {
	if len(names) == 0 {
		return usagef("cannot remove nothing: name the image; %q lists them", "hermes image ls")
	}
	store, home, err := a.images()
	if err != nil {
		return err
	}
	var failures []error
	for _, text := range names {
		name := text
		if source, err := image.Parse(text); err == nil {
			name = source.String()
		}
		if err := store.Remove(ctx, name); err != nil {
			failures = append(failures, err)
			continue
		}
		fmt.Fprintln(a.stdout, "removed", printable(name))
	}
	_, err = native.CollectImages(ctx, home)
	return errors.Join(append(failures, err)...)
}
