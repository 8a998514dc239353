package doctor

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// FeatureOptions are what a feature is judged by.
type FeatureOptions struct {
	Name   string
	Addons *addon.Manager
	// Variables are those of the environment and of the home.
	Variables config.Lookup
	// Tools starts the backend, if it is not warm, and asks it.
	Tools func(context.Context, feature.Feature) ([]backend.Tool, error)
}

// Feature looks at all that a feature needs to answer, in the order in which it needs it, at last by starting it. It
// installs nothing, and ends at the first thing without which the rest cannot be.
func Feature(ctx context.Context, o FeatureOptions) (found []Finding) {
	status := o.Addons.Status(ctx)
	i := slices.IndexFunc(status.Features, func(f addon.FeatureStatus) bool { return f.Name == o.Name })
	if i < 0 {
		refusal := unavailable.NotListed(o.Name, feature.Closest(o.Name))
		return []Finding{Bad.finding("feature", refusal.Next, "%s: %s", o.Name, refusal.Reason)}
	}
	f := status.Features[i]
	found = append(found, ok("feature", "%s: %s", f.Name, f.For))
	for _, look := range []func(context.Context, FeatureOptions, addon.Status, addon.FeatureStatus) []Finding{runtimeOf, installed, intact, variables, starts} {
		more := look(ctx, o, status, f)
		if found = append(found, more...); CountBad(more) > 0 {
			return found
		}
	}
	return found
}

// runtimeOf is what would run it.
func runtimeOf(_ context.Context, _ FeatureOptions, s addon.Status, f addon.FeatureStatus) []Finding {
	if s.Runtime == "" {
		return []Finding{Bad.finding("runtime", "use the container image, or set HERMES_RUNTIME to a runtime that \"make runtime\" has made", "%s", s.Problem)}
	}
	found := []Finding{ok("runtime", "%s, %s", s.Runtime, s.ABI)}
	if f.Ecosystem != "node" {
		return found
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return append(found, Bad.finding("node", "install Node.js 20 or later, or use the full image", "there is no node on the PATH"))
	}
	return append(found, ok("node", "%s", node))
}

// installed is whether it is there, and if not whether it may be.
func installed(_ context.Context, o FeatureOptions, s addon.Status, f addon.FeatureStatus) []Finding {
	verdict := gate.Ask(o.Addons.Lookup)
	var found []Finding
	if verdict.Refusal == nil {
		found = append(found, ok("installs", "allowed, into %s", s.Target))
	} else {
		found = append(found, Note.finding("installs", verdict.Refusal.Next, "%s", verdict.Refusal.Reason))
	}
	fix := "hermes addon ensure " + f.Name
	switch {
	case len(f.Missing) == 0 && f.State == addon.Outdated:
		return append(found, Note.finding("installed", "hermes addon rebuild", "%s", f.Reason))
	case len(f.Missing) == 0:
		return append(found, ok("installed", "%s, %s", f.State, strings.Join(f.Specs, ", ")))
	case f.State == addon.Failed:
		return append(found, Bad.finding("installed", fix+" --retry", "no: %s", f.Reason))
	case f.State == addon.Unavailable:
		return append(found, Bad.finding("installed", "hermes addon info "+f.Name, "no, and it cannot be: %s", f.Reason))
	}
	return append(found, Bad.finding("installed", fix, "no: %s is missing", strings.Join(f.Missing, ", ")))
}

// intact is whether the store still has what was published.
func intact(ctx context.Context, o FeatureOptions, _ addon.Status, f addon.FeatureStatus) []Finding {
	if f.State == addon.Core {
		return nil
	}
	g, problems, err := o.Addons.Verify(ctx)
	switch {
	case errors.Is(err, addon.ErrEmpty):
		return nil
	case err != nil:
		return []Finding{Note.finding("files", "hermes addon verify", "%v", err)}
	case len(problems) > 0:
		return []Finding{Bad.finding("files", "hermes addon rebuild", "%d are not what was published, as %v", len(problems), problems[0])}
	}
	return []Finding{ok("files", "all as published, in generation %.12s", g.Digest)}
}

// variables are by their names what it would be given, and what nobody has set.
func variables(_ context.Context, o FeatureOptions, _ addon.Status, f addon.FeatureStatus) []Finding {
	given := choice.Variables(f.Feature, o.Variables)
	var found []Finding
	for kind, names := range map[string][]string{"credentials": f.Credentials, "settings": f.Settings} {
		if len(names) == 0 {
			continue
		}
		var have, lack []string
		for _, name := range names {
			if _, is := given[name]; is {
				have = append(have, name)
			} else {
				lack = append(lack, name)
			}
		}
		// A proxy may have a login in it, and so be a secret, but nobody needs one.
		needed := slices.IndexFunc(lack, func(name string) bool { return !strings.HasSuffix(name, "_PROXY") })
		if kind == "credentials" && len(have) == 0 && needed >= 0 {
			found = append(found, Note.finding(kind, "hermes config set "+lack[needed]+" VALUE", "none is set of %s", strings.Join(lack, ", ")))
			continue
		}
		found = append(found, ok(kind, "set: %s; not set: %s", orNone(have), orNone(lack)))
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// starts is whether it says which tools it has, and how long that takes.
func starts(ctx context.Context, o FeatureOptions, _ addon.Status, f addon.FeatureStatus) []Finding {
	if f.Entry == "" {
		return []Finding{ok("tools", "none: it is a library that others use")}
	}
	began := time.Now()
	tools, err := o.Tools(ctx, f.Feature)
	took := time.Since(began).Round(time.Millisecond)
	if err != nil {
		var known *unavailable.Error
		reason, fix := err.Error(), "hermes addon ensure --retry "+f.Name
		if errors.As(err, &known) {
			reason = known.Reason
			if known.Next != "" {
				fix = known.Next
			}
		}
		return []Finding{Bad.finding("starts", fix, "no, after %v: %s", took, reason)}
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return []Finding{ok("starts", "it answered after %v", took), ok("tools", "%s", orNone(names))}
}
