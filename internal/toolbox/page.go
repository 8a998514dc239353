package toolbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	// longestLine is how many bytes of a line are shown.
	longestLine = 2000
	// sniffed is how much of a file is looked at to see what it is.
	sniffed = 8000
	// counted is how large a file is read to its end to know how many lines it has.
	counted = 16 << 20
	// longestRead is how much of a line is read to find its end.
	longestRead = 256 << 20
	// scanned is how much of a file is read to find a line.
	scanned = 1 << 30
)

// pager takes a page out of a file as it is read.
type pager struct {
	in    ReadFileInput
	room  int // bytes that the page may still have
	out   ReadFileOutput
	lines []string // of the page; of its end, where the end was asked for
	first int

	total            int
	cut              int // lines that are not shown whole
	returns, invalid int // lines that end as on Windows, and that are no UTF-8
	full             bool
}

// page reads as much as was asked for and fits.
func (t *Toolbox) page(r io.Reader, name string, size int64, in ReadFileInput) (ReadFileOutput, error) {
	src := bufio.NewReaderSize(r, 64<<10)
	head, err := src.Peek(sniffed)
	if err != nil && err != io.EOF {
		return ReadFileOutput{}, err
	}
	if kind := binary(head); kind != "" {
		return ReadFileOutput{}, refuse("cannot read %q as text: it is binary (%s, %d bytes); look at it with a command, like file, xxd or strings", name, kind, size)
	}
	p := &pager{in: in, room: t.settings.MaxOutput, first: in.Offset, out: ReadFileOutput{Path: name, Size: size}}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		src.Discard(3)
		p.note("the file begins with a byte order mark, which is not shown")
	}
	ended, err := p.read(src, name, size)
	if err != nil {
		return ReadFileOutput{}, err
	}
	return p.finish(ended)
}

func (p *pager) note(format string, args ...any) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf(format, args...))
}

// read goes through the lines, and says whether the last one had an end.
func (p *pager) read(src *bufio.Reader, name string, size int64) (ended bool, err error) {
	ended = true
	for taken := int64(0); ; {
		if p.full && size > counted {
			p.total = -1 // it would take too long to know
			return true, nil
		}
		if taken > scanned {
			return false, refuse("cannot read line %d of %q: more than %d bytes lie before it; use a command, like: tail -c +BYTE FILE | head -c 10000", p.in.Offset, name, int64(scanned))
		}
		line, n, end, err := readLine(src, longestRead)
		taken += n
		if err == io.EOF {
			return ended, nil
		}
		if err != nil {
			return false, err
		}
		ended = end
		p.total++
		p.take(line, n, end)
		if n > longestRead && !end { // what else there is cannot be known
			if len(p.lines) == 0 || p.in.Offset < 0 {
				return false, refuse("cannot read line %d of %q: line %d before it has more than %d bytes; use a command, like: tail -c +BYTE FILE | head -c 10000", p.in.Offset, name, p.total, int64(longestRead))
			}
			p.note("line %d is longer than %d bytes and was not read to its end; what comes after it is not shown", p.total, int64(longestRead))
			p.full, p.total = true, -1
			return true, nil
		}
	}
}

// readLine reads a line, of which it keeps the beginning. It is how long with its end. One that goes on after so many
// bytes is not read further.
func readLine(src *bufio.Reader, most int64) (line []byte, n int64, ended bool, err error) {
	for {
		part, err := src.ReadSlice('\n')
		n += int64(len(part))
		if room := longestLine + utf8.UTFMax - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		switch {
		case err == bufio.ErrBufferFull && n <= most:
			continue
		case err == bufio.ErrBufferFull:
			return line, n, false, nil
		case err == io.EOF && n == 0:
			return nil, 0, false, io.EOF
		case err == io.EOF:
			return line, n, false, nil
		case err != nil:
			return nil, n, false, err
		}
		return line, n, true, nil
	}
}

// take puts a line on the page, if it belongs there and fits.
func (p *pager) take(raw []byte, n int64, ended bool) {
	if p.full || p.in.Offset > 0 && p.total < p.in.Offset {
		return
	}
	line := strings.TrimSuffix(string(raw), "\n")
	whole := int64(len(raw)) == n
	if whole && ended && strings.HasSuffix(line, "\r") {
		p.returns++
		line = line[:len(line)-1]
	}
	if !utf8.ValidString(line) && whole {
		p.invalid++
	}
	if len(line) > longestLine {
		at := longestLine
		for at > 0 && !utf8.RuneStart(line[at]) {
			at--
		}
		line = fmt.Sprintf("%s… [%d bytes of this line are left out]", line[:at], n-int64(at))
		p.cut++
	}
	p.lines = append(p.lines, strings.ToValidUTF8(line, "\uFFFD"))
	if p.in.Offset < 0 {
		p.lines = p.lines[max(0, len(p.lines)+p.in.Offset):]
		return
	}
	if p.room -= len(line) + 8; p.room < 0 && len(p.lines) > 1 {
		p.lines, p.full = p.lines[:len(p.lines)-1], true
	}
	p.full = p.full || len(p.lines) == p.in.Limit
}

// finish makes the answer of what was taken.
func (p *pager) finish(ended bool) (ReadFileOutput, error) {
	if p.in.Offset < 0 {
		p.first = p.total - len(p.lines) + 1
		p.lines = p.lines[:min(len(p.lines), p.in.Limit)]
	}
	out := &p.out
	if p.total >= 0 {
		out.TotalLines = &p.total
	}
	switch {
	case p.total == 0:
		p.note("the file is empty")
		return *out, nil
	case len(p.lines) == 0:
		return *out, refuse("cannot read %q from line %d on: it has only %d lines", out.Path, p.in.Offset, p.total)
	}
	var b strings.Builder
	last := p.first - 1
	for _, line := range p.lines {
		if b.Len() > 0 && p.in.Offset < 0 && b.Len()+len(line) > p.room {
			break
		}
		last++
		fmt.Fprintf(&b, "%d|%s\n", last, line)
	}
	out.Content, out.FirstLine, out.LastLine = b.String(), p.first, last
	if p.total < 0 || last < p.total {
		out.NextOffset = last + 1
	} else if !ended {
		p.note("the last line has no newline at its end")
	}
	p.notes()
	return *out, nil
}

func (p *pager) notes() {
	switch {
	case p.returns > 0 && p.returns >= len(p.lines)-1:
		p.note("lines end with CRLF, as on Windows; patch and its diff keep that")
	case p.returns > 0:
		p.note("%d of these lines end with CRLF and the others with LF", p.returns)
	}
	if p.invalid > 0 {
		p.note("%d lines are not UTF-8; what cannot be shown is \uFFFD", p.invalid)
	}
	if p.cut > 0 {
		p.note("%d lines are longer than %d bytes and cut; read one whole with a command, like: sed -n LINEp FILE | cut -b FROM-TO", p.cut, longestLine)
	}
}

// binary says what a file is that is no text, by its beginning; empty for text.
func binary(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "text in UTF-16; iconv -f UTF-16 makes it readable"
	case !bytes.ContainsRune(head, 0):
		return ""
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return "a program or library for Linux"
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return "a database of SQLite"
	}
	return http.DetectContentType(head)
}
