package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/image"
)

func newImagePull(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "pull [FLAG…] NAME",
		DisableFlagsInUseLine: true,
		Short:                 "Fetch an image, or what of it has changed",
		Long: "Fetches an image into the home. NAME is one of a registry, as Docker has them, oci:DIRECTORY, or archive:FILE for what\n" +
			"docker save wrote; one of several images in those is named by #NAME at the end. Credentials are those of docker login.\n" +
			"Sandboxes that exist keep the image that they were made of.",
		Example: "hermes image pull docker.io/library/debian:12\n" +
			"hermes image pull archive:./debian.tar",
		RunE: func(cmd *cobra.Command, args []string) error { return runImagePull(cmd.Context(), a, asJSON, args) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runImagePull(ctx context.Context, a *app, asJSON bool, args []string) error {
	if len(args) != 1 {
		return usagef("cannot fetch %d images: name one", len(args))
	}
	source, err := image.Parse(args[0])
	if err != nil {
		return usagef("%s", err)
	}
	store, _, err := a.images()
	if err != nil {
		return err
	}
	progress := a.newFetching()
	img, err := store.Pull(ctx, source.String(), source, progress)
	progress.end()
	switch {
	case err != nil:
		return err
	case asJSON:
		return writeJSON(a.stdout, img)
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s\n", printable(img.Name), img.Digest)
	return err
}
