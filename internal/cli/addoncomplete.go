package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
)

// completeCallable completes the names of features that have tools.
func completeCallable(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names = append(names, cobra.CompletionWithDesc(choice.Search, "web search, as configured"))
	for _, f := range feature.All() {
		if f.Entry != "" {
			names = append(names, cobra.CompletionWithDesc(f.Name, f.For))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionTime is how long somebody who pressed a key waits gladly.
const completionTime = time.Second

// completeCall completes features, and the tools of those that are warm: nothing is started for a key that was pressed.
func (a *app) completeCall(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return completeCallable(cmd, args, word)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTime)
	defer cancel()
	var names []cobra.Completion
	for _, tool := range a.warmTools(ctx, args[0]) {
		names = append(names, cobra.CompletionWithDesc(tool.Name, oneLine(tool.Description)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) warmTools(ctx context.Context, name string) []backend.Tool {
	use, err := a.useBackends(useOptions{}, true)
	if err != nil {
		return nil
	}
	features, err := use.features(name)
	if err != nil {
		return nil
	}
	return use.WarmTools(ctx, features)
}
