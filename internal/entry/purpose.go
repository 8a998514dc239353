package entry

import (
	"path/filepath"
	"strings"
)

// Purpose are the first words of a container's command after hermes' own name and the flags before them, as "gateway"
// and "run": what the container is for.
func Purpose(command []string) []string {
	if len(command) > 0 && filepath.Base(command[0]) == filepath.Base(Program) {
		command = command[1:]
	}
	for len(command) > 0 && strings.HasPrefix(command[0], "-") {
		if takesValue := command[0] == "-p" || command[0] == "--profile"; takesValue && len(command) > 1 {
			command = command[1:]
		}
		command = command[1:]
	}
	return command
}
