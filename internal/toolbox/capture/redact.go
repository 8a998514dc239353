package capture

import (
	"bytes"
	"slices"
)

// Redacted stands in an answer for what it must not hold.
const Redacted = "[redacted]"

// shortest is the least number of bytes of a value that is looked for: a shorter one is in too many words.
const shortest = 6

// redactor replaces secrets in a text: values that are known, and what looks like a token or a private key. A secret
// is found wherever the text was split on its way here, so that what may be the beginning of one is held back.
type redactor struct {
	out    func([]byte)
	values [][]byte // longest first
	held   []byte
	buf    []byte
}

// newRedactor looks for values of at least a few characters.
func newRedactor(values []string, out func([]byte)) *redactor {
	r := &redactor{out: out}
	for _, v := range values {
		if v := bytes.TrimSpace([]byte(v)); len(v) >= shortest && len(v) <= longestHeld {
			r.values = append(r.values, v)
		}
	}
	slices.SortFunc(r.values, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// longestHeld is how much of a text is held back at most; a longer secret is not found.
const longestHeld = 16 << 10

func (r *redactor) write(p []byte) {
	if len(r.held) > 0 {
		p = append(r.held, p...)
		r.held = nil
	}
	found, open := r.find(p)
	end := r.certain(p, open)
	for _, s := range slices.Backward(found) {
		if s.from < end && end < s.to {
			end = s.from
		}
	}
	if len(p)-end > 2*longestHeld { // no secret is as long as that
		found, end = withOpen(p, found, open), len(p)
	}
	r.pass(p[:end], found)
	if end < len(p) {
		r.held = bytes.Clone(p[end:])
	}
}

// finish passes on what was held back.
func (r *redactor) finish() {
	p := r.held
	r.held = nil
	found, open := r.find(p)
	r.pass(p, withOpen(p, found, open))
}

// withOpen counts a private key as found whose end will not come.
func withOpen(p []byte, found []span, open int) []span {
	if open < 0 || !isKey(p[open:]) {
		return found
	}
	found = slices.DeleteFunc(found, func(s span) bool { return s.from >= open })
	return append(found, span{open, len(p)})
}

// span is a part of a text.
type span struct{ from, to int }

// find returns the secrets of a text, in order and apart from each other, and where a private key begins that has no
// end yet, or -1.
func (r *redactor) find(p []byte) (merged []span, open int) {
	var all []span
	for _, v := range r.values {
		for at := 0; ; {
			i := bytes.Index(p[at:], v)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(v)})
			at += i + len(v)
		}
	}
	whole, open := keys(p)
	all = append(append(all, tokens(p)...), whole...)
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	merged = all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged, open
}

// certain is up to where a text cannot be changed by what follows it.
func (r *redactor) certain(p []byte, open int) int {
	end := len(p)
	for end > 0 && len(p)-end < longestHeld && isToken(p[end-1]) {
		end--
	}
	if open >= 0 {
		end = min(end, open)
	}
	for _, v := range r.values {
		for n := min(len(v)-1, len(p)); n > len(p)-end; n-- {
			if p[len(p)-n] == v[0] && bytes.HasSuffix(p, v[:n]) {
				end = len(p) - n
				break
			}
		}
	}
	return end
}

// pass hands a text on, without the secrets in it.
func (r *redactor) pass(p []byte, secrets []span) {
	if len(secrets) == 0 || secrets[0].from >= len(p) {
		if len(p) > 0 {
			r.out(p)
		}
		return
	}
	r.buf = r.buf[:0]
	at := 0
	for _, s := range secrets {
		if s.from >= len(p) {
			break
		}
		r.buf = append(append(r.buf, p[at:s.from]...), Redacted...)
		at = s.to
	}
	r.out(append(r.buf, p[at:]...))
}
