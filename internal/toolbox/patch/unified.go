package patch

import (
	"regexp"
	"strconv"
	"strings"
)

// ranges is the head of a hunk: where it is in the old and in the new file, and how long it is there.
var ranges = regexp.MustCompile(`^@@+ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)

// isRange says whether what stands between two @@ is one.
func isRange(text string) bool { return ranges.MatchString("@@ " + text + " @@") }

// nobody is the name of a file that does not exist.
const nobody = "/dev/null"

// unified reads a unified diff.
type unified struct {
	lines []string
	at    int
}

func parseUnified(lines []string) ([]Change, *Problem) {
	u := &unified{lines: lines}
	var changes []Change
	for u.at < len(u.lines) {
		line := u.lines[u.at]
		switch {
		case strings.HasPrefix(line, "diff --git "):
			c, ok, err := u.git()
			if err != nil {
				return nil, err
			}
			if ok {
				changes = append(changes, c)
			}
		case u.header(u.at):
			c, err := u.file()
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
		case strings.HasPrefix(line, "@@"):
			return nil, problem("the patch has %q before it says of which file; put \"--- FILE\" and \"+++ FILE\" before it", Cut(line, shownLine))
		default:
			u.at++ // what people write before a patch
		}
	}
	return changes, nil
}

// header says whether the names of a file are at a line.
func (u *unified) header(i int) bool {
	return i+1 < len(u.lines) && strings.HasPrefix(u.lines[i], "--- ") && strings.HasPrefix(u.lines[i+1], "+++ ")
}

// git reads a change with the lines that git puts before it; some have only those.
func (u *unified) git() (Change, bool, *Problem) {
	var c Change
	for u.at++; u.at < len(u.lines) && !strings.HasPrefix(u.lines[u.at], "diff --git "); u.at++ {
		line := strings.TrimRight(u.lines[u.at], "\r")
		if u.header(u.at) {
			named, err := u.file()
			if err == nil && c.To != "" {
				named.Path, named.To = c.Path, c.To
			}
			return named, true, err
		}
		if from, ok := strings.CutPrefix(line, "rename from "); ok {
			c.Path = from
		}
		if to, ok := strings.CutPrefix(line, "rename to "); ok {
			c.To = to
		}
		if strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "GIT binary patch") {
			return c, false, problem("the patch changes a binary file, which only a command can")
		}
	}
	return c, c.To != "", nil
}

// file reads the names of a file and its hunks.
func (u *unified) file() (Change, *Problem) {
	from, to := fileName(u.lines[u.at][4:]), fileName(u.lines[u.at+1][4:])
	if (strings.HasPrefix(from, "a/") || from == nobody) && (strings.HasPrefix(to, "b/") || to == nobody) {
		from, to = strings.TrimPrefix(from, "a/"), strings.TrimPrefix(to, "b/")
	}
	u.at += 2
	c := Change{Op: Update, Path: from}
	switch {
	case from == nobody && to == nobody:
		return c, problem("the patch has a file without a name")
	case from == nobody:
		c.Op, c.Path = Create, to
	case to == nobody:
		c.Op = Delete
	case from != to:
		c.To = to
	}
	for u.at < len(u.lines) && strings.HasPrefix(u.lines[u.at], "@@") {
		h, err := u.hunk()
		if err != nil {
			return c, err
		}
		c.hunks = append(c.hunks, h)
	}
	return c, nil
}

// fileName takes the time off that some programs put after a name, and the quotes that git puts around it.
func fileName(text string) string {
	text = strings.TrimRight(text, "\r")
	if plain, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		return plain
	}
	name, _, _ := strings.Cut(text, "\t")
	return strings.TrimSpace(name)
}

// hunk reads one. How long it is said to be decides only where a line could be taken for the head of the next file:
// who writes patches by hand seldom counts.
func (u *unified) hunk() (hunk, *Problem) {
	head := u.lines[u.at]
	var h hunk
	oldLeft, newLeft := -1, -1 // not said
	if m := ranges.FindStringSubmatch(head); m != nil {
		h.at, _ = strconv.Atoi(m[1])
		oldLeft, newLeft = count(m[2]), count(m[4])
		if oldLeft == 0 && h.at == 0 {
			h.at = -1 // before everything
		}
	} else if anchor := strings.Trim(head, "@ \t\r"); anchor != "" {
		h.anchors = []string{anchor}
	}
	for u.at++; u.at < len(u.lines); u.at++ {
		line := u.lines[u.at]
		if strings.HasPrefix(line, `\`) {
			u.unended(&h)
			continue
		}
		over := oldLeft <= 0 && newLeft <= 0
		if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff --git ") || u.header(u.at) && (oldLeft < 1 || newLeft < 1) {
			break
		}
		s, ok := parseStep(line)
		if !ok || over && s.line == blankLine {
			if !over {
				return h, problem("the patch has the line %q; each line below @@ begins with a space, + or -", Cut(line, shownLine))
			}
			break
		}
		if s.kind != add {
			oldLeft--
		}
		if s.kind != remove {
			newLeft--
		}
		h.steps = append(h.steps, s)
	}
	h.unblank()
	if len(h.steps) == 0 {
		return h, problem("the patch has %q with no lines below it", Cut(head, shownLine))
	}
	return h, nil
}

// unended takes note of a line that does not end.
func (u *unified) unended(h *hunk) {
	if len(h.steps) == 0 {
		return
	}
	last := h.steps[len(h.steps)-1].kind
	h.openOld = h.openOld || last != add
	h.openNew = h.openNew || last != remove
	h.last = true
}

func count(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text) // digits, by the expression
	return n
}
