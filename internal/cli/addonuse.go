package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/keeper"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
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
	*keeper.OrHere
	app    *app
	addons *addon.Manager
	bar    *installing
	config config.Config
	// lookup is the environment with the profile's own variables.
	lookup config.Lookup
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
	c, err := config.Load(g.lookup)
	if err != nil {
		return nil, err
	}
	lookup, err := a.settled(g)
	if err != nil {
		return nil, err
	}
	if _, err := c.AddOnIdle(); err != nil { // the keeper can tell its log only
		a.say("%v; it is %s until then", err, config.DefaultAddOnIdle)
	}
	use := &backendUse{app: a, config: c, lookup: lookup, bar: a.newInstalling()}
	use.addons = a.addons(func(options *addon.Options) {
		options.Retry, options.Progress = o.retry, use.bar.tell
		options.Confirm = a.confirmInstall(!o.yes && !quiet)
	})
	use.OrHere = &keeper.OrHere{
		Keeper: a.keeper(g),
		Here:   func() (keeper.Pool, error) { return newPool(c, use.addons, config.DefaultAddOnIdle, use.addons.Log) },
		Cold:   func(err error) { a.say("%v; this call starts the backend anew", err) },
	}
	return use, nil
}

// keeper is the one of a profile.
func (a *app) keeper(g agent) keeper.Keeper {
	environ := os.Environ()
	if a.profile != "" { // the store is the home's, and all else the profile's
		store, _, err := config.AddOnStore(a.lookup)
		if err == nil {
			environ = with(environ, config.LazyInstallTarget, store)
		}
		environ = with(environ, "HERMES_HOME", g.dir())
	}
	return keeper.Keeper{
		Home: g.dir(), Environ: keeper.Environ(environ), Build: keeper.Build(),
		Program: "/proc/self/exe", Arguments: []string{"hermes", "addon", "serve"}, // this very build, also where its file was replaced
	}
}

// with is an environment in which a variable has one value.
func with(environ []string, name, value string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return len(v) > len(name) && v[:len(name)+1] == name+"=" })
	return append(others, name+"="+value)
}

// features are those that a name means, the first choice first.
func (u *backendUse) features(name string) ([]feature.Feature, error) {
	web, err := u.config.Web()
	if err != nil {
		return nil, err
	}
	list, err := choice.Features(name, u.addons.Features, web, u.lookup)
	var unknown *choice.UnknownError
	if errors.As(err, &unknown) {
		return nil, settings(err)
	}
	return list, err
}

// ensure installs a feature that is not there. It is compiled at once: a new generation afterwards would end a backend
// that is warm by then.
func (u *backendUse) ensure(ctx context.Context, name string) error {
	defer u.bar.end()
	done, err := u.addons.Ensure(ctx, name)
	u.bar.end()
	if err != nil || !done.Installed {
		return err
	}
	u.app.say("%s is installed", name)
	u.app.compile(ctx, u.addons)
	return nil
}

// call calls a tool of a feature, which may take that long; zero means as long as backends may. One that took longer did
// not answer, and others may.
func (u *backendUse) call(ctx context.Context, f feature.Feature, tool string, arguments json.RawMessage, within time.Duration) (backend.Result, error) {
	if err := u.ensure(ctx, f.Name); err != nil {
		return backend.Result{}, err
	}
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, nil)
		defer cancel()
	}
	result, err := u.Call(ctx, f.Name, tool, arguments, choice.Variables(f, u.lookup))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = unavailable.BackendFailed(fmt.Sprintf("it took longer than %v", within), "", nil).For(f.Name, nil)
	}
	return result, err
}

// tools are those of a feature that is there.
func (u *backendUse) tools(ctx context.Context, f feature.Feature) ([]backend.Tool, error) {
	return u.Tools(ctx, f.Name, choice.Variables(f, u.lookup))
}
