package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

// processOptions say which sandbox's processes are meant. ps, logs, wait, kill,
// write and events share them.
type processOptions struct{ target }

// inside calls f with a sandbox that is there. One that has stopped starts again:
// its guest has the logs.
func (o *processOptions) inside(ctx context.Context, a *app, what string, f func(*sandbox.Sandbox) error) error {
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	id := boxes.Identity(o.task)
	if _, _, err := boxes.Manager().Inspect(ctx, id); errors.Is(err, sandbox.ErrNotFound) {
		return noSandbox("look into", id, err)
	}
	box, err := boxes.Attach(ctx, o.task)
	if err != nil {
		return cannot(what, err)
	}
	return f(box)
}

// among calls f with the processes of the sandbox that words name.
func (o *processOptions) among(ctx context.Context, a *app, what string, words []string, f func([]*sandbox.Process) error) error {
	return o.inside(ctx, a, what, func(box *sandbox.Sandbox) error {
		found, err := o.find(ctx, box, words)
		if err != nil {
			return err
		}
		return f(found)
	})
}

// find returns the processes that words name: by id, by name or by the beginning
// of an id, with or without "proc_".
func (o *processOptions) find(ctx context.Context, box *sandbox.Sandbox, words []string) ([]*sandbox.Process, error) {
	all, err := box.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var found []*sandbox.Process
	for _, word := range words {
		id, err := match(all, word)
		if err != nil {
			return nil, fmt.Errorf("cannot find the process %q: %w; %q lists them", word, err, "hermes sandbox ps --task "+o.task)
		}
		found = append(found, box.Process(id))
	}
	return found, nil
}

// match finds one process. A name means the one that runs under it, else the last
// that did.
func match(all []sandbox.ProcessInfo, word string) (string, error) {
	named, prefixed := "", []string{}
	for _, p := range all { // the youngest is last, and of one name at most one runs
		switch {
		case p.ID == word || p.Name == word && p.State == sandbox.ProcessRunning:
			return p.ID, nil
		case p.Name == word:
			named = p.ID
		}
		if word != "" && strings.HasPrefix(strings.TrimPrefix(p.ID, "proc_"), strings.TrimPrefix(word, "proc_")) {
			prefixed = append(prefixed, p.ID)
		}
	}
	switch {
	case named != "":
		return named, nil
	case len(prefixed) == 1:
		return prefixed[0], nil
	case len(prefixed) > 1:
		return "", fmt.Errorf("%d processes have such an id", len(prefixed))
	}
	return "", errors.New("there is none")
}

// needProcesses checks that at least one process is named, and at most so many.
func needProcesses(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("cannot %s nothing: name a process; %q lists them", cmd.Name(), "hermes sandbox ps")
		case len(args) > most:
			return usagef("cannot use %q: %s takes %s", args[most], cmd.CommandPath(), plural(most, "process", "processes"))
		}
		return nil
	}
}

// manyProcesses is more than anybody names.
const manyProcesses = 1 << 16

// completeProcesses offers names and ids of the task's processes.
func (o *processOptions) completeProcesses(a *app) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		boxes, err := o.open(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer a.close(boxes)
		// Not obtain: who completes a line starts nothing.
		box, err := boxes.Manager().Attach(cmd.Context(), boxes.Identity(o.task))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := box.Processes(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []cobra.Completion
		for _, p := range all {
			about := string(p.State) + ": " + commandText(p)
			if p.Name != "" && printable(p.Name) == p.Name {
				words = append(words, cobra.CompletionWithDesc(p.Name, about))
			}
			words = append(words, cobra.CompletionWithDesc(p.ID, about))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// commandText is what a process runs, on one line.
func commandText(p sandbox.ProcessInfo) string {
	if p.Line != "" {
		return oneLine(p.Line)
	}
	words := make([]string, len(p.Argv))
	for i, a := range p.Argv {
		words[i] = printable(a)
	}
	return strings.Join(words, " ")
}
