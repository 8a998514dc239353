package cli

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
)

// newAddon is the group of all that is done to add-ons.
func newAddon(a *app) *cobra.Command {
	group := newGroup("addon", "Install, call, look at and remove opt-in backends",
		"A feature is an opt-in backend of the agent: a search engine, a messenger, a voice. The core that comes with Hermes is\n"+
			"sealed; a feature of the list is installed beside it at its first use, from packages whose hashes are known, into a\n"+
			"store in the home. It can only ever add to the core, and every change is a new generation that can be taken back.",
		"hermes addon ls\n"+
			"hermes addon ensure search.exa\n"+
			"hermes addon call search web_search '{\"query\":\"x\"}'\n"+
			"hermes addon rollback")
	group.AddCommand(newAddonLs(a, "addon ls"), newAddonInfo(a), newAddonEnsure(a), newAddonStatus(a), newAddonRemove(a), newAddonRollback(a),
		newAddonVerify(a), newAddonGc(a), newAddonRebuild(a), newAddonSbom(a), newAddonCall(a), newAddonTools(a), newAddonDoctor(a))
	addAddonServe(a, group)
	return group
}

// addons is the manager of this process.
func (a *app) addons(change func(*addon.Options)) *addon.Manager {
	o := a.addonOptions()
	if change != nil {
		change(&o)
	}
	return addon.New(o)
}

func (a *app) addonOptions() addon.Options {
	return addon.Options{Lookup: a.lookup, Environ: os.Environ(), Log: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// confirmInstall asks before something is installed, if that is wanted and there is somebody at a terminal.
func (a *app) confirmInstall(wanted bool) func(feature string, missing []string) bool {
	if !wanted || !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return nil
	}
	return func(feature string, missing []string) bool { return gate.Confirm(a.stdin, a.stderr, feature, missing) }
}

func completeFeatures(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, f := range feature.All() {
		names = append(names, cobra.CompletionWithDesc(f.Name, f.For))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// features wants at least one name.
func features(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("cannot tell which feature is meant: name one; \"hermes addon ls\" lists them")
	}
	return nil
}

// oneFeature wants exactly one name.
func oneFeature(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("cannot use %q: %s takes one feature", args[1], cmd.CommandPath())
	}
	return features(cmd, args)
}

func short(digest string) string { return digest[:min(len(digest), 12)] }
