package patch

import (
	"slices"
	"strings"
)

// kind is what a step of a hunk does.
type kind byte

const (
	keep   kind = ' '
	remove kind = '-'
	add    kind = '+'
)

type step struct {
	kind kind
	line string
}

// hunk is one passage of a file and what becomes of it.
type hunk struct {
	// at is the line of the old file that it is said to begin with, from 1 on; 0 where nothing is said.
	at int
	// anchors are lines that come somewhere before it.
	anchors []string
	steps   []step
	// last says that it ends with the file; openOld and openNew that the last line does not end, before or after.
	last, openOld, openNew bool
}

// old are the lines that it expects.
func (h hunk) old() []string {
	var lines []string
	for _, s := range h.steps {
		if s.kind != add {
			lines = append(lines, s.line)
		}
	}
	return lines
}

// application is a text on its way to another: what is before taken is in made.
type application struct {
	text
	made  []string
	taken int
	// shift is how far the last hunk was from where it said to be.
	shift int
	// touched says that a hunk said how the last line ends.
	touched, endsOpen bool
	tolerance         Tolerance
}

// apply changes a content by hunks, which come in its order.
func apply(content string, hunks []hunk) (Result, error) {
	if len(content) > Most {
		return Result{}, problem("it is larger than %d bytes; change it by a command", Most)
	}
	a := application{text: split(content)}
	size := len(content)
	for i, h := range hunks {
		at, how, err := a.find(h)
		if err != nil {
			if len(hunks) > 1 {
				err = problem("in part %d of %d: %s", i+1, len(hunks), err.Text)
			}
			return Result{}, err
		}
		before := len(a.made)
		a.take(h, at, how)
		for _, line := range a.made[before:] {
			size += len(line)
		}
		if size > 2*Most {
			return Result{}, problem("it would be larger than %d bytes", Most)
		}
	}
	result := a.result().String()
	if len(result) > Most {
		return Result{}, problem("it would be larger than %d bytes", Most)
	}
	return Result{result, len(hunks), a.tolerance}, nil
}

// find says where a hunk belongs.
func (a *application) find(h hunk) (int, Tolerance, *Problem) {
	from := a.taken
	for _, anchor := range h.anchors {
		at, ok := a.anchor(anchor, from)
		if !ok {
			return 0, 0, problem("the line %q after @@ is not there; read the file again", Cut(anchor, shownLine))
		}
		from = at + 1
	}
	old := h.old()
	if len(old) == 0 {
		return a.insertion(h, from)
	}
	for _, how := range tolerances {
		places := how.places(a.lines, old, from)
		if len(places) == 0 {
			continue
		}
		end := len(a.lines) - len(old)
		said := h.at - 1 + a.shift
		switch {
		case h.at > 0 && slices.Contains(places, said):
			return said, how, nil
		case h.at > 0 && slices.Contains(places, h.at-1):
			return h.at - 1, how, nil
		case h.last && places[len(places)-1] == end:
			return end, how, nil
		case len(places) == 1, len(h.anchors) > 0:
			return places[0], how, nil
		}
		return 0, 0, ambiguous(places)
	}
	return 0, 0, missing(a.lines, old)
}

// insertion is the place of a hunk that expects nothing.
func (a *application) insertion(h hunk, from int) (int, Tolerance, *Problem) {
	switch {
	case len(h.anchors) > 0:
		return from, Exact, nil
	case h.at < 0: // before the first line
		return a.taken, Exact, nil
	case h.at == 0:
		return len(a.lines), Exact, nil
	case h.at < from || h.at > len(a.lines):
		return 0, 0, problem("the file has %d lines, and the patch adds lines after line %d without any around them; give some lines around them", len(a.lines), h.at)
	}
	return h.at, Exact, nil
}

// anchor finds a line by what it says, or else by what it begins with.
func (a *application) anchor(line string, from int) (int, bool) {
	wanted := Indentation.form(line)
	beginning := -1
	for i := from; i < len(a.lines); i++ {
		have := Indentation.form(a.lines[i])
		if have == wanted {
			return i, true
		}
		if beginning < 0 && strings.HasPrefix(have, wanted) {
			beginning = i
		}
	}
	return beginning, beginning >= 0
}

// take applies a hunk at its place.
func (a *application) take(h hunk, at int, how Tolerance) {
	if h.at > 0 && len(h.old()) > 0 {
		a.shift = at - (h.at - 1)
	}
	a.tolerance = max(a.tolerance, how)
	a.made = append(a.made, a.lines[a.taken:at]...)
	a.taken = at
	old := h.old()
	adapt := a.adapter(h, a.lines[at:at+len(old)], how)
	first := len(a.made)
	for _, s := range h.steps {
		switch s.kind {
		case keep:
			a.made = append(a.made, a.lines[a.taken])
			a.taken++
		case remove:
			a.taken++
		case add:
			a.made = append(a.made, adapt(s.line))
		}
	}
	marked := how > Exact && at == 0 && len(old) > 0 && strings.HasPrefix(a.lines[0], mark)
	if marked && first == 0 && len(a.made) > 0 && !strings.HasPrefix(a.made[0], mark) {
		a.made[0] = mark + a.made[0]
	}
	if a.taken == len(a.lines) && (h.openOld || h.openNew) {
		a.touched, a.endsOpen = true, h.openNew
	}
}

// adapter makes new lines what they have to be among those of the file.
func (a *application) adapter(h hunk, found []string, how Tolerance) func(string) string {
	switch {
	case how == Exact && len(found) > 0, len(a.lines) == 0:
		return func(line string) string { return line }
	case len(found) == 0:
		found = a.lines
	}
	withReturns := returns(found)
	s := shift{}
	if how == Indentation {
		s, _ = shiftOf(h.old(), found) // it was tried when the place was found
	}
	return func(line string) string {
		if how == Indentation {
			line = s.apply(line)
		}
		return ended(line, withReturns)
	}
}

// result is the text that was made.
func (a *application) result() text {
	t := text{append(a.made, a.lines[a.taken:]...), a.open}
	if a.touched {
		t.open = a.endsOpen
	}
	return t
}
