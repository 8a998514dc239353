package doctor

import (
	"context"
	"strings"
)

// interpreter looks for a language that add-ons are written in.
func interpreter(name, program string) func(context.Context, *machine) []Finding {
	return func(ctx context.Context, m *machine) []Finding {
		path, err := m.find(program)
		if err != nil {
			return []Finding{Note.finding(name, m.install(program), "no %s on the PATH; add-ons in it will not run", program)}
		}
		version, err := m.run(ctx, path, "--version")
		if err != nil {
			return []Finding{Note.finding(name, quote(path)+" --version # shows why", "%s does not work: %v", path, err)}
		}
		return []Finding{ok(name, "%s at %s", strings.TrimPrefix(firstLine(version), "Python "), path)}
	}
}
