package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/image"
)

func newImageLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the images of this home",
		Example:               "hermes image ls\nhermes image ls --json   # with environment, user, directory and entrypoint",
		Args:                  noArguments,
		RunE:                  func(*cobra.Command, []string) error { return runImageLs(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func runImageLs(a *app, asJSON bool) error {
	store, _, err := a.images()
	if err != nil {
		return err
	}
	list, err := named(store)
	if err != nil {
		return cannot("list images", err)
	}
	if asJSON {
		return cannot("write the list", writeJSON(a.stdout, append([]image.Image{}, list...)))
	}
	table := [][]cell{{{"NAME", bold}, {"DIGEST", bold}, {"LAYERS", bold}, {"SIZE", bold}, {"FETCHED", bold}}}
	for _, img := range list {
		table = append(table, []cell{{printable(img.Name), ""}, {shortDigest(img.Digest), ""}, {fmt.Sprint(len(img.Layers)), ""},
			{size(img.Bytes), ""}, {img.Fetched.Local().Format("2006-01-02 15:04"), ""}})
	}
	return cannot("write the list", writeTable(a.stdout, a.paint(), table))
}
