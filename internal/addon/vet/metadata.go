package vet

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// headers are those of a METADATA file, by their lower-case names.
type headers map[string][]string

// parseHeaders reads what Python reads, which takes it for a mail: the fields end at the first line that is neither
// one nor the continuation of one, and whatever a field after that would say is not said.
func parseHeaders(content []byte) headers {
	h := make(headers)
	last := ""
	for _, line := range splitLines(string(content)) {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			if all := h[last]; len(all) > 0 {
				all[len(all)-1] += "\n" + strings.TrimSpace(line)
			}
			continue
		}
		name, value, isField := strings.Cut(line, ":")
		if !isField || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			break
		}
		last = strings.ToLower(name)
		h[last] = append(h[last], strings.TrimSpace(value))
	}
	return h
}

// splitLines cuts a text where Python does, given that it has no control characters but these.
func splitLines(text string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// unreadable says why Python could not read a text, or would read something else in it than we do. One distribution
// that it cannot read is enough to stop a search through all.
func unreadable(content []byte) string {
	if !utf8.Valid(content) {
		return "it is not UTF-8"
	}
	if bytes.ContainsFunc(content, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) || r == '\u2028' || r == '\u2029'
	}) {
		return "it has control characters"
	}
	return ""
}

func (h headers) first(name string) string {
	if len(h[name]) == 0 {
		return ""
	}
	return h[name][0]
}

// longestLicense keeps whole texts of licenses, which some packages have in that field, out of manifests.
const longestLicense = 100

// license is the expression, else what the old field says in one line, else what the classifiers say.
func (h headers) license() string {
	if expression := h.first("license-expression"); expression != "" {
		return expression
	}
	if old := h.first("license"); old != "" && len(old) <= longestLicense && old != "UNKNOWN" && !strings.Contains(old, "\n") {
		return old
	}
	var names []string
	for _, c := range h["classifier"] {
		if parts := strings.Split(c, " :: "); parts[0] == "License" && len(parts) > 2 {
			names = append(names, parts[len(parts)-1])
		}
	}
	return strings.Join(names, ", ")
}
