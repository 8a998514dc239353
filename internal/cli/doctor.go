package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/doctor"
)

// insideFlag makes a doctor the inner half of its own trials; nobody types it.
const insideFlag = "inside"

func newDoctor(a *app) *cobra.Command {
	var asJSON, inside bool
	cmd := &cobra.Command{
		Use:                   "doctor [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Look at this machine and say what to mend",
		Long: "Tries what Hermes needs of this machine, at last with a real sandbox, and says in one line each what is ok, what\n" +
			"works but less (note), and what does not work (bad). Each note and each bad one is followed by FIX: and the command\n" +
			"that mends it here. It changes nothing and takes at most two seconds.",
		Example:     "hermes doctor\nhermes doctor --json",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: judges},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if inside {
				return doctor.Inside()
			}
			return runDoctor(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&inside, insideFlag, false, "be the inner half of a trial")
	cmd.Flag(insideFlag).Hidden = true
	return cmd
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	o, err := a.sandboxOptions()
	if err != nil {
		return err
	}
	c, err := o.Load()
	if err != nil {
		return err
	}
	hermes, err := os.Executable()
	if err != nil {
		return cannot("find this program", err)
	}
	found := doctor.Run(ctx, doctor.Options{Config: c, Lookup: o.Lookup, Inside: []string{hermes, "doctor", "--" + insideFlag}})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if asJSON {
		err = writeJSON(a.stdout, found)
	} else {
		err = writeFindings(a, found)
	}
	if err != nil {
		return cannot("write the findings", err)
	}
	if n := doctor.CountBad(found); n > 0 {
		return fmt.Errorf("cannot work well here: %s bad", plural(n, "finding is", "findings are"))
	}
	return nil
}

// writeFindings writes a line for each, and one for what mends it.
func writeFindings(a *app, found []doctor.Finding) error {
	width := 0
	for _, f := range found {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	colours := map[doctor.Severity]string{doctor.OK: green, doctor.Note: yellow, doctor.Bad: red}
	p := a.paint()
	var b strings.Builder
	for _, f := range found {
		severity := p.of(cell{fmt.Sprintf("%-4s", f.Severity), colours[f.Severity]})
		fmt.Fprintf(&b, "%s  %-*s  %s\n", severity, width, f.Name, oneLine(f.Found))
		if f.Fix != "" {
			fmt.Fprintf(&b, "  FIX: %s\n", oneLine(f.Fix))
		}
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
