package toolbox

import (
	"path"
	"slices"

	"hermes.example/hermes/internal/toolbox/guard"
)

// exitNotes are statuses that do not mean what a status above zero usually does, or say more than the output.
var exitNotes = map[string]map[int]string{
	"grep": {1: "grep ends with 1 if no line matches; it is no failure"},
	"rg":   {1: "rg ends with 1 if no line matches; it is no failure"},
	"diff": {1: "diff ends with 1 if there are differences; it is no failure"},
	"cmp":  {1: "cmp ends with 1 if there are differences; it is no failure"},
	"test": {1: "test ends with 1 if the condition is false; it is no failure"},
	"find": {1: "find ends with 1 if some paths could not be looked at; what it printed is right"},
	"curl": {
		6:  "curl could not resolve the host's name",
		7:  "curl could not connect to the host",
		22: "curl got an HTTP status of 400 or above",
		28: "curl gave up after its time limit",
		35: "curl and the host found no common TLS",
		52: "curl got an empty answer",
		56: "curl lost the connection while it read",
		60: "curl does not trust the host's certificate",
	},
	"git": {128: "git ends with 128 if it cannot do what it was asked; the last line of its output says why"},
}

// alike are other names of programs.
var alike = map[string]string{"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "[": "test", "[[": "test"}

// exitNote says what a status means that is easily misread. It is that of the last command of the line.
func exitNote(line string, code int) string {
	words := guard.Last(line)
	if code == 0 || len(words) == 0 {
		return ""
	}
	name := path.Base(words[0])
	if other, ok := alike[name]; ok {
		name = other
	}
	if name == "git" && code == 1 && len(words) > 1 {
		return gitNote(words[1:])
	}
	return exitNotes[name][code]
}

// gitNote is about commands of git that tell something by their status.
func gitNote(args []string) string {
	switch {
	case args[0] == "grep":
		return "git grep ends with 1 if no line matches; it is no failure"
	case args[0] == "diff" && (slices.Contains(args, "--exit-code") || slices.Contains(args, "--quiet")):
		return "git diff ends with 1 here if there are differences; it is no failure"
	case args[0] == "merge" || args[0] == "rebase" || args[0] == "cherry-pick" || args[0] == "pull":
		return "git " + args[0] + " ends with 1 if there are conflicts; git status lists them"
	}
	return ""
}
