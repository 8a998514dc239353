package capture

import (
	"bytes"
	"unicode/utf8"
)

// cleaner makes plain text of what a program printed for a terminal: without escape sequences and control characters
// but those of lines, and with every byte that is no UTF-8 replaced. It passes on whole characters only.
type cleaner struct {
	out     func([]byte)
	state   escape
	skipped int    // of a control string
	part    []byte // of a character that goes on in the next write
	buf     []byte
}

// escape is where in a sequence the stream is.
type escape int

const (
	plain   escape = iota
	begun          // after ESC
	control        // ESC [ … up to its final byte
	command        // ESC ] … up to BEL, ESC \ or the end of the line
	private        // ESC P, X, ^ or _ … up to ESC \
)

// longestString is how much a control string may hide. One that was never closed must not swallow all that follows.
const longestString = 64 << 10

const (
	esc = 0x1b
	bel = 0x07
	csi = 0x9b // as a character, U+009B
)

func (c *cleaner) write(p []byte) {
	if len(c.part) > 0 {
		p = append(c.part, p...)
		c.part = nil
	}
	if c.state == plain && clean(p) {
		c.out(p)
		return
	}
	c.buf = c.buf[:0]
	for len(p) > 0 {
		if c.state != plain {
			p = p[c.skip(p[0]):]
			continue
		}
		if !utf8.FullRune(p) {
			c.part = bytes.Clone(p)
			break
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case r == esc:
			c.state = begun
		case r == csi:
			c.state = control
		case r == '\n' || r == '\t' || r == '\r' || r >= ' ' && r < 0x7f || r > 0x9f:
			c.buf = utf8.AppendRune(c.buf, r) // one that is no UTF-8 was read as the sign for that
		}
		p = p[size:]
	}
	if len(c.buf) > 0 {
		c.out(c.buf)
	}
}

// finish passes on what a character was never completed to.
func (c *cleaner) finish() {
	for range c.part {
		c.out([]byte(string(utf8.RuneError)))
	}
	c.part = nil
}

// skip takes one byte of a sequence, and says how many were used: a byte that does not belong to it is text.
func (c *cleaner) skip(b byte) int {
	switch c.state {
	case begun:
		return c.choose(b)
	case control:
		switch {
		case b >= 0x40 && b <= 0x7e:
			c.state = plain
		case b < 0x20 || b > 0x7e:
			c.state = plain
			return 0
		}
		return 1
	}
	c.skipped++
	switch {
	case b == bel && c.state == command:
		c.state = plain
	case b == esc:
		c.state = begun // of ESC \, or of another sequence, which ends this one too
	case b == '\n' && c.state == command, c.skipped > longestString:
		c.state = plain
		return 0
	}
	return 1
}

// choose takes the byte after ESC.
func (c *cleaner) choose(b byte) int {
	c.skipped = 0
	switch {
	case b == '[':
		c.state = control
	case b == ']':
		c.state = command
	case b == 'P' || b == 'X' || b == '^' || b == '_':
		c.state = private
	case b >= 0x20 && b <= 0x2f: // more of it follows
	case b == esc:
	case b < 0x20 || b > 0x7e:
		c.state = plain
		return 0
	default:
		c.state = plain
	}
	return 1
}

// clean says whether a text can stay as it is.
func clean(p []byte) bool {
	if !utf8.Valid(p) {
		return false
	}
	for i, b := range p {
		if odd[b] && (b != 0xc2 || p[i+1] < 0xa0) {
			return false
		}
	}
	return true
}

// odd are bytes that clean has to look at: control characters, and what begins those of U+0080 to U+009F.
var odd = func() (odd [256]bool) {
	for b := range 0x20 {
		odd[b] = b != '\n' && b != '\t' && b != '\r'
	}
	odd[0x7f], odd[0xc2] = true, true
	return odd
}()
