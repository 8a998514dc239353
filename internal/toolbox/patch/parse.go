package patch

import (
	"strings"
)

// Op is what a patch does to a file.
type Op int

// The operations.
const (
	Update Op = iota
	Create
	Delete
)

// Change is what a patch does to one file.
type Change struct {
	Op   Op
	Path string
	// To is the new name of a file that is also renamed; otherwise empty.
	To string

	hunks []hunk
}

// Apply makes the new content of a file that is updated, or created, and then content is empty. An error is a
// *Problem.
func (c Change) Apply(content string) (Result, error) {
	if c.Op == Delete && len(c.hunks) == 0 {
		return Result{}, nil
	}
	return apply(content, c.hunks)
}

// mostChanges is how many files a patch may change.
const mostChanges = 200

const beginPatch = "*** Begin Patch"

// Parse reads a patch in either form. An error is a *Problem.
func Parse(patch string) ([]Change, error) {
	if len(patch) > Most {
		return nil, problem("the patch is larger than %d bytes", Most)
	}
	lines := unfenced(strings.Split(strings.TrimSuffix(patch, "\n"), "\n"))
	var changes []Change
	var err *Problem
	if begin := firstOf(lines, func(l string) bool { return strings.TrimSpace(l) == beginPatch }); begin >= 0 {
		changes, err = parseSections(lines[begin+1:])
	} else {
		changes, err = parseUnified(lines)
	}
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, problem("the patch changes no file: it has neither \"--- FILE\" and \"+++ FILE\" with \"@@\" nor %q", beginPatch)
	}
	if len(changes) > mostChanges {
		return nil, problem("the patch changes %d files; %d are the most", len(changes), mostChanges)
	}
	return changes, check(changes)
}

// check refuses what has no meaning whatever the files are.
func check(changes []Change) error {
	seen := map[string]bool{}
	for _, c := range changes {
		for _, path := range []string{c.Path, c.To} {
			switch {
			case path == "" && path == c.To:
				continue
			case path == "" || strings.ContainsRune(path, 0):
				return problem("the patch has a file without a usable name")
			case seen[path]:
				return problem("the patch has %q twice; put all changes of a file together", Cut(path, shownLine))
			}
			seen[path] = true
		}
		if c.Op == Update && len(c.hunks) == 0 && c.To == "" {
			return problem("the patch does not say what to change in %q", Cut(c.Path, shownLine))
		}
	}
	return nil
}

// unfenced takes off the lines by which a text is shown as code.
func unfenced(lines []string) []string {
	if len(lines) >= 2 && strings.HasPrefix(lines[0], "```") && strings.TrimSpace(lines[len(lines)-1]) == "```" {
		return lines[1 : len(lines)-1]
	}
	return lines
}

func firstOf(lines []string, is func(string) bool) int {
	for i, line := range lines {
		if is(line) {
			return i
		}
	}
	return -1
}
