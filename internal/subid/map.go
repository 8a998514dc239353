package subid

import "strings"

// MapText is an id map as the kernel shows it, in one line for people: which ids
// inside are which outside, and how many.
func MapText(m string) string {
	var parts []string
	for line := range strings.Lines(m) {
		if f := strings.Fields(line); len(f) == 3 {
			parts = append(parts, f[0]+"→"+f[1]+"+"+f[2])
		}
	}
	return strings.Join(parts, " ")
}

// MapsRoot says whether an id map has the number of root outside.
func MapsRoot(m string) bool {
	for line := range strings.Lines(m) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "0" {
			return true
		}
	}
	return false
}
