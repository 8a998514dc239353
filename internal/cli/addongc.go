package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon/store"
)

func newAddonGc(a *app) *cobra.Command {
	var c store.Collect
	cmd := &cobra.Command{
		Use:                   "gc [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Remove generations that nobody needs, and downloads that none of the others was made of",
		Long: "Removes generations other than the current one and the one before it. What a process still uses stays, and is\n" +
			"removed the next time. Of what was downloaded, what the rest and the features that are wanted need stays, so that they\n" +
			"can be built again without a network.",
		Example: "hermes addon gc\nhermes addon gc --keep 0 --other-interpreters",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAddonGc(cmd.Context(), a, c) },
	}
	cmd.Flags().IntVar(&c.Keep, "keep", 1, "`NUMBER` of generations before the current one that stay")
	cmd.Flags().BoolVar(&c.OtherABIs, "other-interpreters", false, "remove what other interpreters had, too")
	return cmd
}

func runAddonGc(ctx context.Context, a *app, c store.Collect) error {
	if c.Keep < 0 {
		return usagef("cannot keep %d generations: give 0 or more", c.Keep)
	}
	done, err := a.addons(nil).Collect(ctx, c)
	if err != nil {
		return cannot("remove generations", err)
	}
	for _, name := range done.Removed {
		a.say("%s is removed", short(name))
	}
	for _, s := range done.Stayed {
		a.say("%s stays: %s", short(s.Name), s.Why)
	}
	if done.Cache > 0 {
		a.say("the installer's cache is smaller by %.1f MB", float64(done.Cache)/1e6)
	}
	return nil
}
