package main

import (
	"bytes"
	"fmt"
	"strings"

	"hermes.example/hermes/internal/addon/feature"
)

// writeTools is about the features that have a backend of their own.
func writeTools(b *bytes.Buffer) {
	b.WriteString("\n## Features with tools\n\n`hermes addon call FEATURE TOOL JSON` calls a tool, and `hermes addon tools FEATURE` lists them. Each backend is a process of its own, " +
		"and is given the\nvariables of its row, where they are set in the environment or in `.env` of the home, and no others.\n\n" +
		"| feature | what runs | secrets | settings |\n|---|---|---|---|\n")
	for _, f := range feature.All() {
		if f.Entry != "" {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Name, describeEntry(f.Entry), codeList(f.Credentials), codeList(f.Settings))
		}
	}
}

// describeEntry says for people what is started.
func describeEntry(entry string) string {
	kind, what, _ := strings.Cut(entry, ":")
	switch kind {
	case "adapter":
		return "our adapter of its library"
	case "module":
		return "the MCP server `" + what + "`, in Python"
	}
	return "the MCP server `" + what + "`, in Node.js"
}

func codeList(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
