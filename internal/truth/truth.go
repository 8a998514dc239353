// Package truth says which values of a switch in the environment mean yes. Everything that reads such a switch asks
// here, so that no two parts of the image disagree.
package truth

import "strings"

// Of is true for the spellings that the image's contract lists, and for nothing else: a typo switches nothing on or
// off in silence, and neither does "on".
func Of(value string) bool {
	switch value {
	case "1", "true", "TRUE", "True", "yes", "YES", "Yes":
		return true
	}
	return false
}

// InAnyCase is Of for switches that have always been read without regard to the case of letters.
func InAnyCase(value string) bool { return Of(strings.ToLower(value)) }
