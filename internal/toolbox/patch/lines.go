// Package patch changes texts as somebody asks who has read them, and may remember them a little wrong: a passage is
// replaced by another, or a patch is applied, as a unified diff or as models write it. It also tells what changed.
//
// The tools for files call it. It knows texts only, and must never touch a file: whoever calls it reads and writes.
// What it does not find exactly it finds with some tolerance, but only where just one place can be meant; it must
// never guess between two. Line endings, a byte order mark and a missing end of the last line stay as they were.
package patch

import "strings"

// mark is a byte order mark in UTF-8.
const mark = "\ufeff"

// text is a content as lines, each without its "\n"; a carriage return before it is part of the line.
type text struct {
	lines []string
	open  bool // the last line does not end
}

func split(content string) text {
	if content == "" {
		return text{}
	}
	open := !strings.HasSuffix(content, "\n")
	return text{strings.Split(strings.TrimSuffix(content, "\n"), "\n"), open}
}

func (t text) String() string {
	if len(t.lines) == 0 {
		return ""
	}
	all := strings.Join(t.lines, "\n")
	if !t.open {
		all += "\n"
	}
	return all
}

// returns says whether most lines end with a carriage return, as Windows has them.
func returns(lines []string) bool {
	n := 0
	for _, line := range lines {
		if strings.HasSuffix(line, "\r") {
			n++
		}
	}
	return n > len(lines)/2
}

// ended gives a line the ending that is wanted.
func ended(line string, withReturn bool) string {
	line = strings.TrimSuffix(line, "\r")
	if withReturn {
		line += "\r"
	}
	return line
}

// Lines is how many lines a content has.
func Lines(content string) int { return len(split(content).lines) }
