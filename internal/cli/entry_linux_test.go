package cli

import (
	"slices"
	"testing"

	"hermes.example/hermes/internal/entry"
)

// A container's first word is a command of hermes whenever hermes has it, whatever programs there are: hermes-init,
// which does not have the command line in it, has the list.
func TestTheEntrypointKnowsEveryCommand(t *testing.T) {
	a, _, _ := testApp()
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	var have []string
	for _, cmd := range root.Commands() {
		have = append(append(have, cmd.Name()), cmd.Aliases...)
	}
	slices.Sort(have)
	if !slices.Equal(have, entry.Commands) {
		t.Errorf("hermes has %q, the entrypoint knows %q", have, entry.Commands)
	}
	for _, word := range entry.Promised {
		if slices.Contains(have, word) {
			t.Errorf("%s is kept: it is a command now", word)
		}
	}
}
