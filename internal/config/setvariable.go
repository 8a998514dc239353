package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"hermes.example/hermes/internal/atomicfile"
)

// variableName is how a variable is told from a key of the configuration file: by its capitals.
var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// IsVariable says whether a key is one of the home's variables and not of its configuration file.
func IsVariable(key string) bool { return variableName.MatchString(key) }

// GetVariable returns a variable of the home's file of them.
func GetVariable(home, name string) (value Secret, found bool, err error) {
	text, err := read(EnvFile(home))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Secret{}, false, fmt.Errorf("cannot read the variables of this home: %w", err)
	}
	vars, _ := ParseVariables(string(text))
	value, found = vars[name]
	return value, found, nil
}

// SetVariable changes one variable in the home's file of them, or adds it, and leaves every other line as it is.
func SetVariable(home, name, value string) error {
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("cannot set %s: its value is not a text", name)
	}
	path, err := resolved(EnvFile(home))
	if err != nil {
		return err
	}
	old, err := read(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read the variables of this home: %w", err)
	}
	changed, ok := setVariable(string(old), name, value)
	if !ok {
		return fmt.Errorf("cannot set %s in %s: a line in it, like a quote that does not end, makes a change change more than that; edit it by hand", name, path)
	}
	return atomicfile.Write(path, []byte(changed), 0o600)
}

// setVariable replaces all assignments of a name by one, in the place of the first. It is not ok if the text then
// would say anything else than that.
func setVariable(text, name, value string) (changed string, ok bool) {
	var kept []string
	at := -1
	for rest := text; rest != ""; {
		found, length, _ := parseAssignment(rest)
		if found.name == name {
			if at < 0 {
				at = len(kept)
			}
		} else {
			kept = append(kept, rest[:length])
		}
		rest = rest[length:]
	}
	if at < 0 {
		at = len(kept)
	}
	if at > 0 && !strings.HasSuffix(kept[at-1], "\n") {
		kept[at-1] += "\n"
	}
	changed = strings.Join(slices.Insert(kept, at, name+"="+quotedVariable(value)+"\n"), "")
	wanted, _ := ParseVariables(text)
	wanted[name] = NewSecret(value)
	found, _ := ParseVariables(changed)
	return changed, maps.Equal(wanted, found)
}

// plainValue needs no quotes in any reader of such files.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]*$`)

var escaping = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`)

func quotedVariable(value string) string {
	switch {
	case plainValue.MatchString(value):
		return value
	case !strings.ContainsAny(value, "'\n\r"):
		return "'" + value + "'"
	}
	return `"` + escaping.Replace(value) + `"`
}
