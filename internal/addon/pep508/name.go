package pep508

import "strings"

// Normalize is the name under which an index knows a distribution (PEP 503): every spelling of
// a name has the same. Whoever compares names compares these.
func Normalize(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	separated := false
	for _, r := range strings.ToLower(name) {
		if isSeparator(r) {
			separated = true
			continue
		}
		if separated {
			b.WriteByte('-')
			separated = false
		}
		b.WriteRune(r)
	}
	if separated {
		b.WriteByte('-')
	}
	return b.String()
}

// isWords says whether text is letters and digits, with single ones of these separators between
// them. PEP 508 would take several in a row; nothing that is installed is named so, and what
// looks like a path or an ellipsis is a mistake.
func isWords(text, separators string) bool {
	word := false
	for _, r := range text {
		switch {
		case isLetter(r) || isDigit(r):
			word = true
		case word && strings.ContainsRune(separators, r):
			word = false
		default:
			return false
		}
	}
	return word
}

func isSeparator(r rune) bool { return r == '-' || r == '_' || r == '.' }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// archives are the endings by which installers take an argument for a file of the working
// directory, and not for something to look up in an index.
var archives = []string{
	".whl", ".egg", ".zip", ".exe", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tlz",
	".gz", ".bz2", ".xz", ".lz", ".lzma", ".zst",
}

func isArchive(text string) bool {
	text = strings.ToLower(text)
	for _, ending := range archives {
		if strings.HasSuffix(text, ending) {
			return true
		}
	}
	return false
}
