package main

import (
	"bytes"
	"fmt"
	"strings"

	"hermes.example/hermes/internal/addon/feature"
)

// writeTools lists the features that have tools, and which variables they are given.
func writeTools(b *bytes.Buffer) {
	b.WriteString("\n## Features with tools\n\n" +
		"Each runs as a process of its own. It is given the variables below where they are set, in the environment or in `HERMES_HOME/.env`, and no others;\n" +
		"of the first kind nobody is shown the values.\n\n| feature | started as | secrets | settings |\n|---|---|---|---|\n")
	for _, f := range feature.All() {
		if f.Entry != "" {
			fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", f.Name, strings.Join(append([]string{f.Entry}, f.Args...), " "), code(f.Credentials), code(f.Settings))
		}
	}
}

func code(names []string) string {
	if len(names) == 0 {
		return "—"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
