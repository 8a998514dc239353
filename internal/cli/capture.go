package cli

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// defaultMaxOutput is how many characters of a stream an answer in JSON holds.
const defaultMaxOutput = 50_000

// capture keeps a command's output up to a number of characters: of more, the
// beginning and the end, which is where programs say what matters.
type capture struct {
	limit int // in characters; zero means none

	first   []byte // the beginning, as much as can be needed of it
	last    []byte // what came after it: a ring once it is full
	next    int    // where the ring goes on
	full    bool
	bytes   int64
	chars   int64
	invalid bool
	partial []byte // the beginning of a character that is not complete yet
}

// Of an output that is too long two fifths are its beginning.
const headShare = 0.4

func (c *capture) headChars() int { return int(headShare * float64(c.limit)) }

// Write takes output; it never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.count(p)
	c.bytes += int64(len(p))
	if c.limit == 0 {
		c.first = append(c.first, p...)
		return len(p), nil
	}
	rest := p
	if room := utf8.UTFMax*c.headChars() - len(c.first); room > 0 {
		n := min(room, len(rest))
		c.first, rest = append(c.first, rest[:n]...), rest[n:]
	}
	c.keep(rest)
	return len(p), nil
}

// keep adds to the ring of what came last.
func (c *capture) keep(p []byte) {
	size := utf8.UTFMax * c.limit
	if len(p) > size {
		p = p[len(p)-size:]
	}
	if !c.full {
		n := min(size-len(c.last), len(p))
		c.last, p = append(c.last, p[:n]...), p[n:]
		c.full = len(c.last) == size
	}
	for len(p) > 0 {
		n := copy(c.last[c.next:], p)
		c.next, p = (c.next+n)%size, p[n:]
	}
}

// count counts characters. A byte that belongs to none counts as one.
func (c *capture) count(p []byte) {
	if len(c.partial) > 0 {
		p = append(c.partial, p...)
		c.partial = nil
	}
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			p = p[1:]
			c.chars++
			continue
		}
		if !utf8.FullRune(p) {
			c.partial = append([]byte(nil), p...)
			return
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			c.invalid = true
		}
		p = p[n:]
		c.chars++
	}
}

// captured is what is told of a stream.
type captured struct {
	text string
	// base64 is the exact content, where text is not because of bytes that are
	// no characters.
	base64 string
	// total is how many characters there were, where text does not have them all.
	total int64
}

func (c *capture) finish() captured {
	total := c.chars + int64(len(c.partial))
	if c.full {
		tail := append(append([]byte(nil), c.last[c.next:]...), c.last[:c.next]...)
		return captured{text: c.shorten(valid(c.first), valid(tail), total), total: total}
	}
	raw := append(append([]byte(nil), c.first...), c.last...)
	text := valid(raw)
	if c.limit > 0 && total > int64(c.limit) {
		return captured{text: c.shorten(text, text, total), total: total}
	}
	out := captured{text: text}
	if c.invalid || len(c.partial) > 0 {
		out.base64 = base64.StdEncoding.EncodeToString(raw)
	}
	return out
}

// shorten joins beginning and end so that all of it, with the notice between
// them, has as many characters as allowed.
func (c *capture) shorten(head, tail string, total int64) string {
	notice := ""
	room := c.limit
	for range 3 { // the notice's length depends on the number in it
		notice = fmt.Sprintf("\n\n... [OUTPUT TRUNCATED - %d chars omitted out of %d total] ...\n\n", total-int64(room), total)
		room = c.limit - utf8.RuneCountInString(notice)
	}
	if room < 2 {
		return lastChars(tail, c.limit)
	}
	begin := int(headShare * float64(room))
	return firstChars(head, begin) + notice + lastChars(tail, room-begin)
}

func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastChars(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// valid replaces every byte that is no character.
func valid(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var b strings.Builder
	for _, r := range string(p) {
		b.WriteRune(r)
	}
	return b.String()
}
