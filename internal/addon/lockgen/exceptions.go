package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/config"
)

// writeSources lists the features that are not made of wheels only.
func (all locks) writeSources(b *bytes.Buffer) {
	b.WriteString("\n## Features that are built from source\n\n" +
		"Some package of these has no wheel. Its code runs, as the service user, while it is built; so they are refused unless whoever starts Hermes\n" +
		"sets `" + config.BuildFromSource + "=1`. The source and the tools that it is built with are locked by their hashes; what comes of it is not, and\n" +
		"`hermes addon info`, the manifest and the bill of materials say so. A package in C needs a compiler and Python's headers, which the small\n" +
		"image does not have.\n\n| feature | platform | built |\n|---|---|---|\n")
	for _, f := range python() {
		for _, p := range platforms {
			if _, sources := lock.Apart(all[p.tag].locked[f.Name].Packages); len(sources) > 0 {
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, p.name, list(sources))
			}
		}
	}
}

func list(packages []lock.Package) string {
	var names []string
	for _, p := range packages {
		names = append(names, p.Name+" "+p.Version)
	}
	return strings.Join(names, ", ")
}

// writeUnlocked lists the features that cannot be had.
func (all locks) writeUnlocked(b *bytes.Buffer) {
	b.WriteString("\n## Features that cannot be installed\n\n" +
		"The core comes first on the search path and an add-on never replaces a version of it: a feature that needs another one is refused, until the core\n" +
		"has it. `hermes addon info` says the same.\n\n| feature | platform | because |\n|---|---|---|\n")
	for _, f := range python() {
		for _, p := range platforms {
			if why, none := all[p.tag].unlocked[f.Name]; none {
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, p.name, why)
			}
		}
	}
}

// writeConflicts lists the pairs of features that cannot be there at the same time.
func (all locks) writeConflicts(b *bytes.Buffer) {
	var rows []string
	for _, p := range platforms {
		rows = append(rows, all[p.tag].conflicts(p.name)...)
	}
	b.WriteString("\n## Features that exclude each other\n\n")
	if len(rows) == 0 {
		b.WriteString("None: all that have a lock can be installed together.\n")
		return
	}
	b.WriteString("One search path has room for one version of a package.\n\n| platform | these | because |\n|---|---|---|\n")
	b.WriteString(strings.Join(rows, ""))
}

func (p platformLocks) conflicts(platform string) []string {
	var rows []string
	features := python()
	for i, f := range features {
		for _, g := range features[i+1:] {
			var c *lock.Conflict
			if _, err := lock.Union(p.locked[f.Name], p.locked[g.Name]); errors.As(err, &c) {
				rows = append(rows, fmt.Sprintf("| %s | `%s`, `%s` | %s |\n", platform, f.Name, g.Name, c))
			}
		}
	}
	return rows
}
