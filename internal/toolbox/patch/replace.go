package patch

import (
	"strings"
	"unicode/utf8"
)

// Most is how many bytes a text may have, before and after.
const Most = 16 << 20

// Replacement is a passage to replace.
type Replacement struct {
	Old, New string
	// All replaces it wherever it is; then it has to be there exactly, or with other line endings.
	All bool
}

// Result is a text after a change.
type Result struct {
	Text string
	// Places is how many were changed.
	Places int
	// Tolerance is what had to be allowed to find them.
	Tolerance Tolerance
}

// Apply replaces the passage. An error is a *Problem.
func (r Replacement) Apply(content string) (Result, error) {
	switch {
	case r.Old == "":
		return Result{}, problem("there is no text to replace: old_string is empty; to make a file, write it")
	case r.Old == r.New:
		return Result{}, problem("nothing would change: the old and the new text are the same")
	case len(content) > Most || len(r.New) > Most:
		return Result{}, problem("it is larger than %d bytes; change it by a command", Most)
	}
	result, err := r.find(content)
	switch {
	case err != nil:
		return Result{}, err
	case len(result.Text) > Most:
		return Result{}, problem("it would be larger than %d bytes", Most)
	case result.Text == content:
		return Result{}, problem("nothing would change: the new text is what is there already")
	}
	return result, nil
}

func (r Replacement) find(content string) (Result, error) {
	lines := split(content).lines
	withReturns := returns(lines)
	for _, how := range []Tolerance{Exact, LineEndings, Typography} {
		folded := fold(content, how)
		at := folded.places(folded.fold(r.Old))
		if len(at) == 0 || how == Typography && len(at) > 1 && r.All {
			continue
		}
		if len(at) > 1 && !r.All {
			return Result{}, ambiguous(folded.lines(at))
		}
		fresh := r.New
		if withReturns {
			fresh = strings.ReplaceAll(strings.ReplaceAll(fresh, "\r\n", "\n"), "\n", "\r\n")
		}
		if size := len(content) + len(at)*len(fresh); size > 2*Most {
			return Result{}, problem("it would be larger than %d bytes", Most)
		}
		return Result{folded.replace(at, len(folded.fold(r.Old)), fresh), len(at), how}, nil
	}
	return r.findLines(content)
}

// findLines replaces whole lines that are the same but for spaces.
func (r Replacement) findLines(content string) (Result, error) {
	t := split(content)
	old := split(r.Old).lines
	fresh := split(r.New).lines
	for _, how := range []Tolerance{TrailingSpace, Typography, Indentation} {
		places := how.places(t.lines, old, 0)
		if len(places) == 0 {
			continue
		}
		if len(places) > 1 {
			return Result{}, ambiguous(places)
		}
		h := hunk{}
		for _, line := range old {
			h.steps = append(h.steps, step{remove, line})
		}
		for _, line := range fresh {
			h.steps = append(h.steps, step{add, line})
		}
		a := application{text: t}
		a.take(h, places[0], how)
		return Result{a.result().String(), 1, how}, nil
	}
	return Result{}, missing(t.lines, old)
}

// folded is a content in the form in which it is compared, and where each byte of that is in the content.
type folded struct {
	content, text string
	how           Tolerance
	at            []int // nil: text is the content
}

// fold makes the form of a tolerance that changes single characters.
func fold(content string, how Tolerance) folded {
	f := folded{content: content, text: content, how: how}
	if how == Exact {
		return f
	}
	var b strings.Builder
	f.at = make([]int, 0, len(content)+1)
	for i := 0; i < len(content); {
		if c := content[i]; c < utf8.RuneSelf && c != '\r' { // almost all
			b.WriteByte(c)
			f.at = append(f.at, i)
			i++
			continue
		}
		size := width(content[i:])
		form := f.fold(content[i : i+size])
		b.WriteString(form)
		for range len(form) {
			f.at = append(f.at, i)
		}
		i += size
	}
	f.at = append(f.at, len(content))
	f.text = b.String()
	return f
}

// width is of what is folded as one.
func width(s string) int {
	if strings.HasPrefix(s, "\r\n") {
		return 2
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

func (f folded) fold(s string) string {
	if f.how >= LineEndings {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if f.how >= Typography {
		s = plain.Replace(s)
	}
	return s
}

// places finds a passage, without overlaps.
func (f folded) places(passage string) []int {
	var found []int
	if passage == "" {
		return nil
	}
	for from := 0; ; {
		i := strings.Index(f.text[from:], passage)
		if i < 0 {
			return found
		}
		found = append(found, from+i)
		from += i + len(passage)
	}
}

// lines are the indexes of the lines that places are in.
func (f folded) lines(places []int) []int {
	found := make([]int, 0, len(places))
	line, last := 0, 0
	for _, at := range places {
		line += strings.Count(f.text[last:at], "\n")
		last = at
		found = append(found, line)
	}
	return found
}

func (f folded) original(i int) int {
	if f.at == nil {
		return i
	}
	return f.at[i]
}

func (f folded) replace(places []int, length int, fresh string) string {
	var b strings.Builder
	last := 0
	for _, at := range places {
		b.WriteString(f.content[last:f.original(at)])
		b.WriteString(fresh)
		last = f.original(at + length)
	}
	b.WriteString(f.content[last:])
	return b.String()
}
