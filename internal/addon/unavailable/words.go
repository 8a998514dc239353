package unavailable

import (
	"strings"
	"unicode"
)

// oneLine puts spaces in the place of line breaks and of what else a log must not hold.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(printable(text), unicode.IsSpace), " ")
}

// printable takes out what would make a terminal do something: what an installer said may come
// from an index. A coloured text stays readable.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, escape := strings.Cut(rest, "\x1b")
		b.WriteString(strings.Map(visible, before))
		rest = after
		if escape {
			rest = afterSequence(after)
		}
	}
	return strings.TrimSpace(b.String())
}

func visible(r rune) rune {
	switch {
	case r == '\n':
		return r
	case r == '\r' || r == '\t':
		return ' '
	case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
		return -1
	}
	return r
}

// afterSequence skips the rest of a colour's sequence, "[1;31m", or of a like one.
func afterSequence(text string) string {
	if !strings.HasPrefix(text, "[") {
		return text
	}
	end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return ""
	}
	return text[end+2:]
}

// lastWords is how much of an installer's output is repeated.
const lastWords = 2000

// tail is the end of a text, of so many characters at most.
func tail(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "\ufffd"))
	return string(runes[max(0, len(runes)-most):])
}
