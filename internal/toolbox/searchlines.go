package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hermes.example/hermes/sandbox"
)

// longestSearched is how many bytes of a line are searched.
const longestSearched = 1 << 20

// file searches one file.
func (s *search) file(ctx context.Context, name string) error {
	r, err := s.x.files.Open(ctx, name, sandbox.Section{})
	if err != nil {
		return err
	}
	defer r.Close()
	src := bufio.NewReaderSize(r, 64<<10)
	head, err := src.Peek(sniffed)
	if err != nil && err != io.EOF {
		return err
	}
	if binary(head) != "" {
		return nil
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		src.Discard(3)
	}
	l := lineSearch{search: s, name: name}
	for number := 1; !s.full; number++ {
		line, cut, err := searchedLine(src)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		l.line(number, line, cut)
		if s.in.OutputMode == "files" && l.count > 0 {
			break
		}
	}
	if l.count > 0 && s.in.OutputMode != "content" {
		f := FoundFile{Path: name}
		if s.in.OutputMode == "count" {
			f.Count = l.count
		}
		s.found(f)
	}
	return nil
}

// searchedLine reads a line without its end, up to the bound, at which it is cut.
func searchedLine(src *bufio.Reader) (line []byte, cut bool, err error) {
	for {
		part, err := src.ReadSlice('\n')
		if line == nil && err == nil {
			line = part // the usual case, without a copy
		} else {
			room := max(0, longestSearched-len(line))
			cut = cut || len(bytes.TrimRight(part, "\r\n")) > room
			line = append(line, part[:min(len(part), room)]...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			if line == nil {
				line = []byte{}
			}
			continue
		case err == io.EOF && len(line) == 0:
			return nil, false, io.EOF
		case err != nil && err != io.EOF:
			return nil, false, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), cut, nil
	}
}

// lineSearch is the search in one file.
type lineSearch struct {
	*search
	name   string
	count  int
	before []string
	// pending is how many of the last matches still want lines after them.
	pending []pendingMatch
}

// pendingMatch is a match, by its index, that wants more lines.
type pendingMatch struct{ index, lines int }

// line looks at one line. One that is cut has no end.
func (l *lineSearch) line(number int, line []byte, cut bool) {
	re := l.re
	if cut {
		re = l.endless
	}
	hit := re.FindIndex(line)
	if l.in.OutputMode != "content" {
		if hit != nil {
			l.count++
		}
		return
	}
	shown := ""
	if l.in.Context > 0 {
		shown = excerpt(line, 0)
		l.after(shown)
	}
	if hit != nil {
		l.match(number, excerpt(line, hit[0]))
	}
	if l.in.Context > 0 {
		if l.before = append(l.before, shown); len(l.before) > l.in.Context {
			l.before = l.before[1:]
		}
	}
}

// after gives a line to the matches that want it.
func (l *lineSearch) after(shown string) {
	left := l.pending[:0]
	for _, p := range l.pending {
		m := &l.out.Matches[p.index]
		m.After = append(m.After, shown)
		if l.room -= len(shown); p.lines > 1 {
			left = append(left, pendingMatch{p.index, p.lines - 1})
		}
	}
	l.pending = left
}

// match takes a line that matches, if it is one of those that were asked for.
func (l *lineSearch) match(number int, shown string) {
	l.count++
	if l.out.Total++; l.out.Total <= l.in.Offset {
		return
	}
	m := SearchMatch{Path: l.name, Line: number, Text: shown, Before: append([]string(nil), l.before...)}
	l.room -= len(m.Path) + len(shown) + 40
	for _, line := range m.Before {
		l.room -= len(line)
	}
	if len(l.out.Matches) == l.in.Limit || l.room < 0 && len(l.out.Matches) > 0 {
		l.full = true
		return
	}
	l.out.Matches = append(l.out.Matches, m)
	if l.in.Context > 0 {
		l.pending = append(l.pending, pendingMatch{len(l.out.Matches) - 1, l.in.Context})
	}
}

// excerpt is as much of a line as is shown, around a byte of it.
func excerpt(line []byte, at int) string {
	if len(line) <= shownMatch {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	begin := max(0, min(at-shownMatch/4, len(line)-shownMatch))
	end := min(len(line), begin+shownMatch)
	for begin > 0 && !utf8.RuneStart(line[begin]) {
		begin--
	}
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end++
	}
	text := strings.ToValidUTF8(string(line[begin:end]), "\uFFFD")
	if begin > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return fmt.Sprintf("%s [of %d bytes]", text, len(line))
}
