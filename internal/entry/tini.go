package entry

import "strings"

// afterTiniFlags leaves out what is meant for tini: flags, known or not, up to "--" or the first word that is none.
func afterTiniFlags(words []string) []string {
	for len(words) > 0 {
		flag := words[0]
		switch {
		case flag == "--":
			return words[1:]
		case len(flag) < 2 || flag[0] != '-':
			return words
		case takesNextWord(flag) && len(words) > 1:
			words = words[2:]
		default:
			words = words[1:]
		}
	}
	return words
}

// takesNextWord is true of -p and -e, also at the end of a group of short flags; in the middle of one the rest of
// the word is their value.
func takesNextWord(flag string) bool {
	return !strings.HasPrefix(flag, "--") && strings.IndexAny(flag, "pe") == len(flag)-1
}
