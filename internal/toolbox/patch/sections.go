package patch

import "strings"

// The lines that a patch of sections is made of.
const (
	endPatch   = "*** End Patch"
	endOfFile  = "*** End of File"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
)

// parseSections reads what comes after "*** Begin Patch".
func parseSections(lines []string) ([]Change, *Problem) {
	var changes []Change
	for i := 0; i < len(lines); {
		line := strings.TrimRight(lines[i], " \t\r")
		i++
		end := i
		for end < len(lines) && !beginsSection(lines[end]) {
			end++
		}
		body := lines[i:end]
		var c Change
		var err *Problem
		switch {
		case strings.HasPrefix(line, addFile):
			c, err = parseAdded(strings.TrimPrefix(line, addFile), body)
		case strings.HasPrefix(line, deleteFile):
			c = Change{Op: Delete, Path: strings.TrimSpace(strings.TrimPrefix(line, deleteFile))}
		case strings.HasPrefix(line, updateFile):
			c, err = parseUpdated(strings.TrimPrefix(line, updateFile), body)
		case line == endPatch:
			return changes, nil
		case line == "":
			continue
		default:
			return nil, problem("the patch has the line %q where a file should begin: *** Add File:, *** Update File: or *** Delete File:", Cut(line, shownLine))
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
		i = end
	}
	return nil, problem("the patch does not end with %q", endPatch)
}

func beginsSection(line string) bool {
	return strings.HasPrefix(line, addFile) || strings.HasPrefix(line, updateFile) || strings.HasPrefix(line, deleteFile) ||
		strings.TrimRight(line, " \t\r") == endPatch
}

func parseAdded(path string, body []string) (Change, *Problem) {
	h := hunk{}
	for _, line := range body {
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			if strings.TrimSpace(line) == "" {
				continue
			}
			return Change{}, problem("the new file %q has the line %q; each of its lines begins with +", Cut(path, shownLine), Cut(line, shownLine))
		}
		h.steps = append(h.steps, step{add, text})
	}
	return Change{Op: Create, Path: strings.TrimSpace(path), hunks: []hunk{h}}, nil
}

func parseUpdated(path string, body []string) (Change, *Problem) {
	c := Change{Op: Update, Path: strings.TrimSpace(path)}
	if len(body) > 0 && strings.HasPrefix(body[0], moveTo) {
		c.To, body = strings.TrimSpace(strings.TrimPrefix(body[0], moveTo)), body[1:]
	}
	h := hunk{}
	finish := func() {
		for len(h.steps) > 0 && h.steps[len(h.steps)-1] == (step{keep, blankLine}) {
			h.steps = h.steps[:len(h.steps)-1] // between this and what follows
		}
		if len(h.steps) > 0 {
			c.hunks = append(c.hunks, h)
		}
		h = hunk{}
	}
	for _, line := range body {
		switch {
		case strings.HasPrefix(line, "@@"):
			if len(h.steps) > 0 {
				finish()
			}
			if anchor := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "@@")), "@@")); anchor != "" && !isRange(anchor) {
				h.anchors = append(h.anchors, anchor)
			}
		case strings.TrimRight(line, " \t\r") == endOfFile:
			h.last = true
		default:
			s, ok := parseStep(line)
			if !ok {
				return c, problem("the patch of %q has the line %q; each line begins with a space, + or -", Cut(path, shownLine), Cut(line, shownLine))
			}
			h.steps = append(h.steps, s)
		}
	}
	finish()
	for i := range c.hunks {
		c.hunks[i].unblank()
	}
	return c, nil
}

// blankLine is a line of a patch without anything, which stands for a blank line of the file, or for none. No line
// of a text has it.
const blankLine = "\n"

// unblank makes lines without anything blank lines of the file.
func (h *hunk) unblank() {
	for i := range h.steps {
		if h.steps[i].line == blankLine {
			h.steps[i].line = ""
		}
	}
}

// parseStep reads a line of a hunk.
func parseStep(line string) (step, bool) {
	if line == "" || line == "\r" {
		return step{keep, blankLine}, true
	}
	switch k := kind(line[0]); k {
	case keep, remove, add:
		return step{k, line[1:]}, true
	}
	return step{}, false
}
