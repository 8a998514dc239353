package api

import (
	"unicode/utf8"

	"hermes.example/hermes/client"
)

// window keeps the first and the last half of what is written to it, and counts all of it: of a long output the
// beginning and the end tell most.
type window struct {
	head, tail []byte
	half       int
	at         int // where in a full tail the oldest byte is
	total      int64
	missed     int64 // what was no longer kept, which is left out like the rest
}

func newWindow(size int64) *window { return &window{half: int((size + 1) / 2)} }

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	w.total += int64(n)
	if room := w.half - len(w.head); room > 0 && w.missed == 0 {
		take := min(room, len(p))
		w.head = append(w.head, p[:take]...)
		p = p[take:]
	}
	if over := len(p) - w.half; over > 0 {
		p = p[over:]
	}
	if room := w.half - len(w.tail); room > 0 {
		take := min(room, len(p))
		w.tail = append(w.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		copied := copy(w.tail[w.at:], p)
		w.at = (w.at + copied) % w.half
		p = p[copied:]
	}
	return n, nil
}

// gap notes bytes that nobody has any more. All that was kept of the end before them goes, so that there is one hole.
func (w *window) gap(n int64) {
	w.total += n
	w.missed += n
	w.tail, w.at = w.tail[:0], 0
}

// output is what is left.
func (w *window) output() client.Output {
	kept := append(w.head[:len(w.head):len(w.head)], w.tail[w.at:]...)
	kept = append(kept, w.tail[:w.at]...)
	o := client.Output{Bytes: w.total}
	if o.Omitted = w.total - int64(len(kept)); o.Omitted > 0 {
		o.OmittedAt = int64(len(w.head))
	}
	o.Text, o.Base64 = textOrBytes(kept)
	return o
}

// textOrBytes is how bytes travel in JSON: as text where they are some.
func textOrBytes(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}
