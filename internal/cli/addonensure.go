package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/unavailable"
)

type ensureOptions struct {
	retry, offline, yes, json bool
	timeout                   time.Duration
}

func newAddonEnsure(a *app) *cobra.Command {
	var o ensureOptions
	cmd := &cobra.Command{
		Use:                   "ensure [FLAG…] FEATURE…",
		DisableFlagsInUseLine: true,
		Short:                 "See to it that features are there",
		Long: "Installs what is missing of features, and does nothing for those that are there. Packages are checked against the\n" +
			"hashes of the lock that comes with the runtime; where none does, versions are chosen once, against those of the core.\n" +
			"What would change or hide anything of the core is not installed. An install that failed is not tried again for a while.\n" +
			"What was installed can be used at once; it is compiled then, so that it starts faster.",
		Example:           "hermes addon ensure search.exa\nhermes addon ensure --retry tts.edge   # although it failed a short while ago\nhermes addon ensure --offline search.exa",
		Args:              features,
		ValidArgsFunction: completeFeatures,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAddonEnsure(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.retry, "retry", false, "try again what failed a short while ago")
	cmd.Flags().BoolVar(&o.offline, "offline", false, "use only what was fetched before")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "`TIME` that one installer may take (default 5m)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object for each feature, and never ask")
	return cmd
}

func runAddonEnsure(ctx context.Context, a *app, names []string, o ensureOptions) error {
	bar := a.newInstalling()
	defer bar.end()
	m := a.addons(func(options *addon.Options) {
		options.Retry, options.Offline, options.Timeout, options.Progress = o.retry, o.offline, o.timeout, bar.tell
		options.Confirm = a.confirmInstall(!o.yes && !o.json)
	})
	installed := false
	for _, name := range names {
		done, err := m.Ensure(ctx, name)
		bar.end()
		installed = installed || done.Installed
		var why *unavailable.Error
		if o.json && errors.As(err, &why) {
			return errors.Join(writeJSON(a.stdout, why), err)
		}
		if err != nil {
			return err
		}
		if o.json {
			if err := writeJSON(a.stdout, done); err != nil {
				return cannot("write the result", err)
			}
			continue
		}
		switch {
		case done.Installed:
			a.say("%s is installed", done.Feature)
		case done.Generation == "":
			a.say("%s is part of the core", done.Feature)
		default:
			a.say("%s is there", done.Feature)
		}
		if done.Outdated != "" {
			a.say("it is still as it was made for another core: %s", done.Outdated)
		}
		for other, why := range done.LeftOut {
			a.say("%s is wanted, and cannot be had for this interpreter: %s", other, why)
		}
	}
	if installed {
		a.compile(ctx, m)
	}
	return nil
}

// compile makes the next starts faster. If it fails they are not, and all else is as it should be.
func (a *app) compile(ctx context.Context, m *addon.Manager) {
	if err := m.Compile(ctx); err != nil && ctx.Err() == nil {
		a.say("what was installed can be used, but starts slowly: %v", err)
	}
}
