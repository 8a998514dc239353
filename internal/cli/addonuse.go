package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
)

// useOptions are the flags of commands that use a backend, and install it if need be.
type useOptions struct{ retry, yes bool }

func (o *useOptions) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.retry, "retry", false, "try again an install that failed a short while ago")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "install without asking")
}

// backendUse is how a command uses backends: it installs what is missing itself, where somebody can be asked, and has
// the keeper call it.
type backendUse struct {
	*configured.Addons
	app *app
	bar *installing
}

// useBackends makes one for the profile that is meant.
func (a *app) useBackends(o useOptions, quiet bool) (*backendUse, error) {
	g, err := a.agent()
	if err == nil {
		err = g.mustExist()
	}
	if err != nil {
		return nil, err
	}
	if _, err := config.Load(g.lookup); err != nil { // it is worth more than what is said about its variables
		return nil, err
	}
	lookup, err := a.settled(g)
	if err != nil {
		return nil, err
	}
	use := &backendUse{app: a, bar: a.newInstalling()}
	options := configured.AddonOptions{Lookup: lookup, Dir: g.dir(), Store: a.addonStore(), Say: a.tell, Addons: a.addonOptions()}
	options.Addons.Retry, options.Addons.Progress = o.retry, use.bar.tell
	options.Addons.Confirm = a.confirmInstall(!o.yes && !quiet)
	use.Addons, err = configured.OpenAddons(options)
	return use, err
}

// addonStore is where the home's features are, where a profile of it was named; else empty.
func (a *app) addonStore() string {
	if a.profile == "" {
		return ""
	}
	store, _, err := config.AddOnStore(a.lookup)
	if err != nil {
		return ""
	}
	return store
}

// features are those that a name means, the first choice first.
func (u *backendUse) features(name string) ([]feature.Feature, error) {
	list, err := u.Features(name)
	if isA[*choice.UnknownError](err) {
		return nil, settings(err)
	}
	return list, err
}

// ensure installs a feature that is not there.
func (u *backendUse) ensure(ctx context.Context, name string) error {
	defer u.bar.end()
	done, err := u.Ensure(ctx, name, func(p addon.Progress) {
		if p.Phase == addon.Compiling {
			u.bar.end()
		}
		u.bar.tell(p)
	})
	if err == nil && done.Installed {
		u.app.say("%s is installed", name)
	}
	return err
}

// call calls a tool of a feature, which may take that long; zero means as long as backends may.
func (u *backendUse) call(ctx context.Context, f feature.Feature, tool string, arguments json.RawMessage, within time.Duration) (backend.Result, error) {
	if err := u.ensure(ctx, f.Name); err != nil {
		return backend.Result{}, err
	}
	return u.Call(ctx, f, tool, arguments, within)
}
