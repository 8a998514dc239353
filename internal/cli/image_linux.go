package cli

import (
	"slices"

	"github.com/spf13/cobra"

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

// images opens the store of the home, which all profiles share.
func (a *app) images() (*image.Store, string, error) {
	g, err := a.agent()
	if err != nil {
		return nil, "", err
	}
	store, err := native.Images(g.root)
	return store, g.root, err
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
