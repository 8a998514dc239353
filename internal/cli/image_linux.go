package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/sandbox/engine/native"
)

// addImages adds the group of all that is done to images.
func addImages(a *app, root *cobra.Command) {
	group := newGroup("image", "Fetch, list and remove the images that sandboxes are made of",
		"An image is the files that a sandbox starts with. It comes from a registry, a directory in OCI layout or an\n"+
			"archive of docker save, is kept in the home, and its layers are shared by all that have them.",
		"hermes image pull docker.io/library/debian:12\n"+
			"hermes sandbox exec --image docker.io/library/debian:12 -- cat /etc/os-release\n"+
			"hermes image ls")
	group.AddCommand(newImagePull(a), newImageLs(a), newImageRm(a), newImagePrune(a))
	root.AddCommand(group)
}

// images opens the store of the configured home.
func (a *app) images() (*image.Store, string, error) {
	c, err := config.Load(a.lookup)
	if err != nil {
		return nil, "", err
	}
	store, err := native.Images(c.Home)
	return store, c.Home, err
}

// named lists the images that people gave a name to.
func named(store *image.Store) ([]image.Image, error) {
	all, err := store.List()
	return slices.DeleteFunc(all, native.Pinned), err
}

func (a *app) completeImages(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	store, _, err := a.images()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := named(store)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, img := range list {
		if printable(img.Name) == img.Name {
			names = append(names, img.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

type imageOptions struct{ json bool }

func (o *imageOptions) addJSON(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print "+what)
}

func newImagePull(a *app) *cobra.Command {
	var o imageOptions
	cmd := &cobra.Command{
		Use:                   "pull [FLAG…] NAME",
		DisableFlagsInUseLine: true,
		Short:                 "Fetch an image, or what of it has changed",
		Long: "Fetches an image into the home. NAME is one of a registry, as Docker has them, oci:DIRECTORY, or archive:FILE for what\n" +
			"docker save wrote; one of several images in those is named by #NAME at the end. Credentials are those of docker login.\n" +
			"Sandboxes that exist keep the image that they were made of.",
		Example: "hermes image pull docker.io/library/debian:12\n" +
			"hermes image pull archive:./debian.tar",
		RunE: func(cmd *cobra.Command, args []string) error { return runImagePull(cmd.Context(), a, &o, args) },
	}
	o.addJSON(cmd, "one JSON object")
	return cmd
}

func runImagePull(ctx context.Context, a *app, o *imageOptions, args []string) error {
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
	case o.json:
		return writeJSON(a.stdout, img)
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s\n", printable(img.Name), img.Digest)
	return err
}

func newImageLs(a *app) *cobra.Command {
	var o imageOptions
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the images of this home",
		Example:               "hermes image ls\nhermes image ls --json   # with environment, user, directory and entrypoint",
		Args:                  noArguments,
		RunE:                  func(*cobra.Command, []string) error { return runImageLs(a, &o) },
	}
	o.addJSON(cmd, "a JSON array")
	return cmd
}

func runImageLs(a *app, o *imageOptions) error {
	store, _, err := a.images()
	if err != nil {
		return err
	}
	list, err := named(store)
	if err != nil {
		return cannot("list images", err)
	}
	if o.json {
		return cannot("write the list", writeJSON(a.stdout, append([]image.Image{}, list...)))
	}
	table := [][]cell{{{"NAME", bold}, {"DIGEST", bold}, {"LAYERS", bold}, {"SIZE", bold}, {"FETCHED", bold}}}
	for _, img := range list {
		table = append(table, []cell{{printable(img.Name), ""}, {shortDigest(img.Digest), ""}, {fmt.Sprint(len(img.Layers)), ""},
			{size(img.Bytes), ""}, {img.Fetched.Local().Format("2006-01-02 15:04"), ""}})
	}
	return cannot("write the list", writeTable(a.stdout, a.paint(), table))
}

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

func newImagePrune(a *app) *cobra.Command {
	var o imageOptions
	cmd := &cobra.Command{
		Use:                   "prune [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Remove layers that no image and no sandbox needs",
		Example:               "hermes image prune\nhermes image prune --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runImagePrune(cmd.Context(), a, &o) },
	}
	o.addJSON(cmd, "one JSON object")
	return cmd
}

func runImagePrune(ctx context.Context, a *app, o *imageOptions) error {
	_, home, err := a.images()
	if err != nil {
		return err
	}
	layers, err := native.CollectImages(ctx, home)
	switch {
	case err != nil:
		return cannot("prune images", err)
	case o.json:
		return writeJSON(a.stdout, map[string]int{"layers": layers})
	}
	_, err = fmt.Fprintln(a.stdout, "removed", plural(layers, "layer", "layers"))
	return err
}
