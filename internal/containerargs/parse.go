// Package containerargs reads docker_extra_args, what people add to "docker run", as
// what it means: parts of a [sandbox.Spec]. So each argument shows in the spec, in
// its differences and as a deviation in the posture, and none reaches an engine as
// it stands.
//
// Whoever puts a spec together from the configuration calls it. An argument that it
// does not know, or that would take from a sandbox what makes it one, is an error
// that names it; no value of a variable is ever in an error or a warning.
package containerargs

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hermes.example/hermes/sandbox"
)

// Setting is where the arguments come from.
const Setting = "docker_extra_args"

// Lookup finds a variable of the caller, as os.LookupEnv does.
type Lookup = func(name string) (value string, found bool)

// Parse reads arguments as "docker run" does. The warnings, of one line each, say
// what has no effect. The result is valid in itself.
func Parse(args []any, lookup Lookup) (r Result, warnings []string, err error) {
	p := parser{lookup: lookup, env: Env{}, fileEnv: Env{}}
	texts, entries := p.texts(args)
	flags := pflag.NewFlagSet(Setting, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.SetInterspersed(false)
	for _, f := range slices.Concat(p.flags(), refusals(), p.effectless()) {
		if f.boolean {
			flags.BoolFuncP(f.name, f.short, "", f.set)
		} else {
			flags.FuncP(f.name, f.short, "", f.set)
		}
	}
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if long, old := renamed[name]; old {
			name = long
		}
		return pflag.NormalizedName(name)
	})
	if i := slices.IndexFunc(texts, isTestFlag); i >= 0 {
		return Result{}, nil, fmt.Errorf("cannot use entry %d of %s: it is no flag of docker run", entries[i], Setting)
	}
	if err := flags.Parse(texts); err != nil {
		return Result{}, nil, explain(err)
	}
	if rest := flags.NArg(); rest > 0 {
		return Result{}, nil, fmt.Errorf("cannot use entry %d of %s: it stands alone, without a flag before it; image and command have settings of their own",
			entries[len(texts)-rest], Setting)
	}
	if r, err = p.result(); err != nil {
		return Result{}, nil, fmt.Errorf("cannot use %s: %w", Setting, err)
	}
	return r, p.warnings, nil
}

// isTestFlag finds what pflag leaves out in silence, for the sake of Go's own tests.
func isTestFlag(arg string) bool { return strings.HasPrefix(arg, "-test.") }

// parser is what has been read so far.
type parser struct {
	lookup       Lookup
	said         Result
	container    sandbox.Container
	env, fileEnv Env
	warnings     []string
}

func (p *parser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(Setting+": "+format, args...))
}

// texts leaves out what is not text, and says which entries the others were.
func (p *parser) texts(args []any) (texts []string, entries []int) {
	for i, arg := range args {
		text, ok := arg.(string)
		if !ok {
			p.warn("entry %d is %s, not text; it is left out", i+1, kind(arg))
			continue
		}
		texts, entries = append(texts, text), append(entries, i+1)
	}
	return texts, entries
}

// kind names what a value is without showing it.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "empty"
	case bool:
		return "a switch"
	case int, int64, uint64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "something else"
}

// result puts together what was read, and checks it as a whole.
func (p *parser) result() (Result, error) {
	r := p.said
	for name, value := range p.env {
		p.fileEnv[name] = value // flags come after files, wherever they stand
	}
	if len(p.fileEnv) > 0 {
		r.Env = p.fileEnv
	}
	r.Container = sandbox.Spec{Container: &p.container}.Normal().Container
	var alone sandbox.Spec
	r.Apply(&alone)
	return r, alone.Validate()
}

// flagName is what a flag's name can be.
var flagName = regexp.MustCompile(`^[A-Za-z0-9-]*`)

// explain says what is wrong with an argument, without its value.
func explain(err error) error {
	var (
		unknown *pflag.NotExistError
		alone   *pflag.ValueRequiredError
		syntax  *pflag.InvalidSyntaxError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &invalid):
		return fmt.Errorf("cannot use --%s in %s: %w", invalid.GetFlag().Name, Setting, invalid.Unwrap())
	case errors.As(err, &alone):
		return fmt.Errorf("cannot use --%s in %s: its value is missing; it is the next entry, or behind a %q", alone.GetFlag().Name, Setting, "=")
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("cannot use -%s in %s: docker run has no such flag", unknown.GetSpecifiedName(), Setting)
	case errors.As(err, &unknown):
		written := unknown.GetSpecifiedName()
		name := flagName.FindString(written)
		if name != written {
			return fmt.Errorf("cannot use --%s in %s: flag and value are in one entry; make two of it, or write --%s=VALUE", name, Setting, name)
		}
		return fmt.Errorf("cannot use --%s in %s: it is not known here; leave it out", name, Setting)
	case errors.As(err, &syntax):
		return fmt.Errorf("cannot use %s: an entry begins with dashes and is no flag", Setting)
	}
	return fmt.Errorf("cannot use %s: it cannot be read as arguments of docker run", Setting)
}
