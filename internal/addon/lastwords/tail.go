package lastwords

import (
	"strings"
	"sync"
)

// kept is how much of an output is kept. More than anybody repeats, so that what is cut off at the front is not seen.
const kept = 64 << 10

// Tail keeps the end of what is written to it, and no more memory than that. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if extra := len(p) - kept; extra > 0 {
		p, t.cut = p[extra:], true
	}
	if extra := len(t.data) + len(p) - kept; extra > 0 {
		t.data, t.cut = append(t.data[:0], t.data[extra:]...), true
	}
	t.data = append(t.data, p...)
	return n, nil
}

// Text is what was kept. A line that lost its beginning is left out: it could begin in the middle of a secret.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.data), "?")
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}
