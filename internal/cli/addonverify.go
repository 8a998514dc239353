package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/store"
)

func newAddonVerify(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "verify [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Compare every installed file with what was published",
		Long: "Reads the whole current generation: hashes, owners, modes, files that are missing and files that are too many. It\n" +
			"finds what somebody changed who may write to the store; a store that belongs to root cannot be changed by the agent.",
		Example:     "hermes addon verify\nhermes addon verify --json",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: judges},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runAddonVerify(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of what is wrong")
	return cmd
}

func runAddonVerify(ctx context.Context, a *app, asJSON bool) error {
	g, problems, err := a.addons(nil).Verify(ctx)
	if errors.Is(err, addon.ErrEmpty) {
		a.say("%v", err)
		err = nil
	}
	if err != nil {
		return cannot("verify the add-ons", err)
	}
	if asJSON {
		if err := writeJSON(a.stdout, append([]store.Problem{}, problems...)); err != nil {
			return cannot("write the result", err)
		}
	} else {
		for _, p := range problems {
			if _, err := fmt.Fprintln(a.stdout, p); err != nil {
				return cannot("write the result", err)
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d files of the generation %s are not what was published; install them anew with \"hermes addon rebuild\"", len(problems), short(g.Digest))
	}
	return nil
}
