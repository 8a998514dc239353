package entry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Route turns the container's command into the main program: the path to execute, and its arguments as they were
// given, byte for byte. What is no program of its own is a command of hermes, and so is every word that could be
// both.
func Route(command []string, path string) (program string, argv []string) {
	if len(command) > 0 && !strings.HasPrefix(command[0], "-") && !isCommand(command[0]) {
		if found := findProgram(command[0], path); found != "" {
			return found, command
		}
	}
	return Program, append([]string{"hermes"}, command...)
}

// findProgram looks a word up as a shell does. Places in the search path that are not absolute are left out: which
// program they mean depends on where somebody stands.
func findProgram(word, path string) string {
	if strings.Contains(word, "/") {
		if isProgram(word) {
			return word
		}
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if candidate := filepath.Join(dir, word); word != "" && filepath.IsAbs(dir) && isProgram(candidate) {
			return candidate
		}
	}
	return ""
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func isCommand(word string) bool {
	return slices.Contains(Commands, word) || slices.Contains(Promised, word)
}
