package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func testApp() (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &app{stdin: os.Stdin, stdout: stdout, stderr: stderr, lookup: lookupIn(nil)}, stdout, stderr
}

func everyCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		everyCommand(sub, visit)
	}
}

func TestEveryHelpHasExamplesAndExitCodes(t *testing.T) {
	a, stdout, _ := testApp()
	everyCommand(newRoot(a), func(cmd *cobra.Command) {
		stdout.Reset()
		path := strings.Fields(cmd.CommandPath())[1:]
		if status := a.run(t.Context(), append(path, "--help")); status != 0 {
			t.Errorf("%s --help: status %d", cmd.CommandPath(), status)
		}
		help := stdout.String()
		for _, part := range []string{"Usage:\n  " + cmd.CommandPath(), "Examples:\n  ", "Exit codes:\n  0 ", "  2 ", "  130 ", "--help"} {
			if !strings.Contains(help, part) {
				t.Errorf("%s --help lacks %q:\n%s", cmd.CommandPath(), part, help)
			}
		}
		if kindOf(cmd) == runner && (!strings.Contains(help, "  125 ") || strings.Contains(help, "  1 ")) {
			t.Errorf("%s --help does not have the codes of a runner", cmd.CommandPath())
		}
		if kindOf(cmd) == judge && !strings.Contains(help, "  1      something is bad") {
			t.Errorf("%s --help does not have the codes of a judge", cmd.CommandPath())
		}
		if n := len(strings.Split(cmd.Example, "\n")); n < 2 || n > 4 {
			t.Errorf("%s has %d examples", cmd.CommandPath(), n)
		}
		for line := range strings.Lines(help) {
			if n := len([]rune(line)); n > 200 {
				t.Errorf("%s --help has a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

// parse runs a command line with commands that do nothing.
func parse(t *testing.T, args []string) (path string, err error) {
	a, _, _ := testApp()
	root := newRoot(a)
	everyCommand(root, func(cmd *cobra.Command) {
		if cmd.HasSubCommands() && kindOf(cmd) == plain {
			return // it finds the unknown ones
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			path = cmd.CommandPath()
			return nil
		}
	})
	root.SetArgs(args)
	return path, root.ExecuteContext(context.WithoutCancel(t.Context()))
}

func TestEveryExampleParses(t *testing.T) {
	a, _, _ := testApp()
	everyCommand(newRoot(a), func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			args := hermesWords(line)
			if args == nil {
				t.Errorf("%s: no hermes in the example %q", cmd.CommandPath(), line)
				continue
			}
			path, err := parse(t, args)
			if err != nil {
				t.Errorf("%s: %q: %v", cmd.CommandPath(), line, err)
			}
			if !cmd.HasSubCommands() && cmd.Name() != "help" && path != cmd.CommandPath() {
				t.Errorf("%s: the example %q is about %s", cmd.CommandPath(), line, path)
			}
		}
	})
	if _, err := parse(t, []string{"sandbox", "exec", "--nope"}); err == nil {
		t.Error("the parser takes anything")
	}
}

// hermesWords returns the arguments that a shell would give to the hermes of a
// line. It knows quotes, pipes, redirections and comments, and expands nothing.
func hermesWords(line string) []string {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(" |>", r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			if r == '|' {
				words = nil // what follows is another command
			}
			if r == '>' {
				return afterHermes(words)
			}
		case r == '#' && !inWord:
			return afterHermes(words)
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	return afterHermes(words)
}

func afterHermes(words []string) []string {
	if len(words) > 0 && words[0] == "hermes" {
		return words[1:]
	}
	return nil
}
