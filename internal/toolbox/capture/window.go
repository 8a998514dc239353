package capture

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// window keeps of a text what fits into an answer: all of it, or its beginning and its end. However long the text is,
// it holds at most four times the answer.
type window struct {
	limit int // characters of the answer
	// overflow is called once, with all there is so far, before the first characters are given up.
	overflow func([]byte)

	head      []byte // until it overflows, the whole text
	tail      []byte
	headChars int
	tailChars int
	total     int64
	over      bool
}

// headShare is how much of an answer the beginning of a text has that is too long, in percent.
const headShare = 40

// leastTail is how many characters the end of a text that is split has at least, so that its last line is there.
const leastTail = 80

func (w *window) write(p []byte) {
	n := utf8.RuneCount(p)
	w.total += int64(n)
	if w.over {
		w.keep(p, n)
		return
	}
	w.head = append(w.head, p...)
	if w.headChars += n; w.headChars > w.limit {
		w.split()
	}
}

// split makes a beginning and an end of what was whole.
func (w *window) split() {
	if w.over {
		return
	}
	w.over = true
	w.overflow(w.head)
	at := chars(w.head, min(w.limit*headShare/100, w.headChars-leastTail))
	rest := w.head[at:]
	w.keep(rest, utf8.RuneCount(rest))
	w.headChars -= w.tailChars
	w.head = w.head[:at:at]
}

// keep adds to the end of the text.
func (w *window) keep(p []byte, n int) {
	if n >= w.limit {
		w.tail, w.tailChars = append(w.tail[:0], last(p, w.limit)...), w.limit
		return
	}
	if w.tailChars+n > 2*w.limit {
		w.tail = append(w.tail[:0], last(w.tail, w.limit)...)
		w.tailChars = w.limit
	}
	w.tail = append(w.tail, p...)
	w.tailChars += n
}

// end is the last of the text, for who has to look at how it ends.
func (w *window) end() []byte {
	if w.over {
		return w.tail
	}
	return w.head
}

// cutEnd takes the text's last n bytes back, which are as many characters.
func (w *window) cutEnd(n int) {
	w.total -= int64(n)
	if w.over {
		w.tail, w.tailChars = w.tail[:len(w.tail)-n], w.tailChars-n
		return
	}
	w.head, w.headChars = w.head[:len(w.head)-n], w.headChars-n
}

// answer is what fits, with the suffix behind it, which is plain text and always whole. Where is the file with all of
// it, known after the text overflowed.
func (w *window) answer(suffix string, where func() string) string {
	if !w.over && w.headChars+len(suffix) > w.limit {
		w.split()
	}
	if !w.over {
		return string(w.head) + suffix
	}
	suffix = suffix[max(0, len(suffix)-w.limit):]
	room := w.limit - len(suffix)
	widest := notice(w.total, w.total, where())
	for _, shorter := range []string{notice(w.total, w.total, ""), ""} {
		if utf8.RuneCountInString(widest) > room/2 {
			widest = shorter
		}
	}
	room -= utf8.RuneCountInString(widest)
	head := w.head[:chars(w.head, room*headShare/100)]
	tail := last(w.tail, room-utf8.RuneCount(head))
	said := ""
	if widest != "" {
		path := ""
		if strings.Contains(widest, fileWord) {
			path = where()
		}
		said = notice(w.total-int64(utf8.RuneCount(head)+utf8.RuneCount(tail)), w.total, path)
	}
	return string(head) + said + string(tail) + suffix
}

// fileWord is in a notice that names the file.
const fileWord = "; all of it: "

// notice stands for what is left out.
func notice(omitted, total int64, path string) string {
	if path != "" {
		path = fileWord + path
	}
	return fmt.Sprintf("\n\n[… %d of %d characters left out here%s …]\n\n", omitted, total, path)
}

// chars is the length in bytes of a text's first n characters.
func chars(p []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(p); n-- {
		_, size := utf8.DecodeRune(p[at:])
		at += size
	}
	return at
}

// last is a text's last n characters.
func last(p []byte, n int) []byte {
	at := len(p)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:at])
		at -= size
	}
	return p[at:]
}
