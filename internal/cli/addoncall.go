package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
)

type callOptions struct {
	useOptions
	json    bool
	timeout time.Duration
}

func newAddonCall(a *app) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:                   "call [FLAG…] FEATURE TOOL [JSON]",
		DisableFlagsInUseLine: true,
		Short:                 "Call a tool of a feature",
		Long: "Installs the feature if it is not there, starts its backend, calls the tool with the object that JSON is, and prints\n" +
			"what it answers. The backend stays warm for the next call, of whichever process (addons.idle, 10m). It is given the\n" +
			"variables that the feature declares, of this environment, else of .env in the home, and no others.\n" +
			"FEATURE may be \"search\": then web.backend is asked, and those of web.fallback in their order if it does not answer;\n" +
			"where nothing is configured, the backends that have a key, and then search.ddgs. JSON may be - for standard input.",
		Example: "hermes addon call search web_search '{\"query\":\"landlock abi 7\"}'\n" +
			"hermes addon call --json --timeout 20s search.firecrawl web_extract '{\"urls\":[\"https://example.org\"]}'\n" +
			"hermes addon call tts.edge speak '{\"text\":\"hello\"}'",
		Args:              callArguments,
		ValidArgsFunction: a.completeCall,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAddonCall(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the whole answer as a JSON object, and never ask")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "`TIME` that one call may take, like 20s (default 2m)")
	o.add(cmd)
	return cmd
}

func callArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return usagef("cannot tell what to call: give a feature and a tool; \"hermes addon tools FEATURE\" lists its tools")
	case len(args) > 3:
		return usagef("cannot use %q: give the tool's arguments as one JSON object, in quotes", args[3])
	}
	return nil
}

// largestArguments is more than any tool takes.
const largestArguments = 4 << 20

// readArguments are the object that a tool is called with.
func readArguments(stdin io.Reader, args []string) (json.RawMessage, error) {
	text := []byte("{}")
	if len(args) > 0 {
		text = []byte(args[0])
	}
	if len(args) > 0 && args[0] == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(stdin, largestArguments+1)); err != nil {
			return nil, cannot("read the arguments", err)
		}
	}
	if len(text) > largestArguments {
		return nil, usagef("cannot use the arguments: they have more than %d bytes", largestArguments)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil || !utf8.Valid(text) {
		return nil, usagef("cannot use the arguments: expected one JSON object in UTF-8, like '{\"query\":\"x\"}'")
	}
	return bytes.TrimSpace(text), nil
}

// called is what --json prints.
type called struct {
	Feature string `json:"feature"`
	backend.Result
}

func runAddonCall(ctx context.Context, a *app, args []string, o callOptions) error {
	arguments, err := readArguments(a.stdin, args[2:])
	if err != nil {
		return err
	}
	if o.timeout < 0 {
		return usagef("cannot use --timeout %v: give a positive time", o.timeout)
	}
	use, err := a.useBackends(o.useOptions, o.json)
	if err != nil {
		return err
	}
	defer use.Close()
	features, err := use.features(args[0])
	if err != nil {
		return err
	}
	by, result, err := choice.First(features, func(f feature.Feature) (backend.Result, error) {
		return use.call(ctx, f, args[1], arguments, o.timeout)
	})
	var why *unavailable.Error
	if o.json && errors.As(err, &why) {
		return errors.Join(writeJSON(a.stdout, why), err)
	}
	if err != nil {
		return cannot("call "+printable(args[1])+" of "+args[0], err)
	}
	if len(features) > 1 || args[0] != by.Name {
		a.say("%s answers", by.Name)
	}
	if o.json {
		err = writeJSON(a.stdout, called{by.Name, result})
	} else if !result.Failed {
		err = a.writeContent(result)
	}
	if err != nil {
		return cannot("write the answer", err)
	}
	if result.Failed {
		return fmt.Errorf("cannot call %s of %s: %s", printable(args[1]), by.Name, complaint(result))
	}
	return nil
}
