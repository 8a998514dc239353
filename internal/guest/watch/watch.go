// Package watch finds the lines of a background process's output that somebody
// wants to be told of, and sees to it that they are not too many.
//
// The guest puts the output of a watched process through a Watcher. It knows
// neither processes nor the wire, starts nothing, and takes the time from its
// caller.
package watch

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
	"time"
)

const (
	// maxLine is how much of a line is looked at, maxTold how much of it is told.
	maxLine = 4 << 10
	maxTold = 1 << 10
	// maxPatterns and maxPattern bound what a request may ask for.
	maxPatterns = 16
	maxPattern  = 1 << 10
)

// Notice is something worth telling: a match, or the end of telling.
type Notice struct {
	Kind Kind
	// Pattern, Line and Held are of a match; Held counts those before it that
	// were not told.
	Pattern, Line string
	Held          int
	// Message says why nothing more is told.
	Message string
}

// Kind is what a notice is about.
type Kind int

// The kinds.
const (
	Match  Kind = iota
	Over        // no more is told of this process
	Paused      // no more is told of any process for some time
)

// Watcher looks at the output of one process. Its Write may be called while its
// Close is.
type Watcher struct {
	patterns []*regexp.Regexp
	breaker  *Breaker
	now      func() time.Duration
	tell     func(Notice)

	mu    sync.Mutex
	limit limit
	line  []byte // the beginning of one that has not ended
}

// New returns a watcher for the expressions, or an error that says which of them
// is none. Tell is called by Write and Close, and must not call them.
func New(expressions []string, b *Breaker, now func() time.Duration, tell func(Notice)) (*Watcher, error) {
	if len(expressions) > maxPatterns {
		return nil, fmt.Errorf("%d watch patterns are too many: give at most %d", len(expressions), maxPatterns)
	}
	w := &Watcher{breaker: b, now: now, tell: tell}
	for _, e := range expressions {
		if len(e) > maxPattern {
			return nil, fmt.Errorf("a watch pattern of %d bytes is too long: give at most %d", len(e), maxPattern)
		}
		p, err := regexp.Compile(e)
		if err != nil {
			return nil, fmt.Errorf("%q is no watch pattern: %w", e, err)
		}
		w.patterns = append(w.patterns, p)
	}
	return w, nil
}

// Write looks at more output; it never fails.
func (w *Watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := len(p)
	for len(p) > 0 && w.limit.state != ended {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			w.take(p)
			break
		}
		w.take(p[:end])
		w.look()
		p = p[end+1:]
	}
	return written, nil
}

// Close looks at a last line that has no end, and tells nothing from then on.
func (w *Watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 && w.limit.state != ended {
		w.look()
	}
	w.limit.state = ended
}

func (w *Watcher) take(p []byte) {
	w.line = append(w.line, p[:min(len(p), maxLine-len(w.line))]...)
}

// look is at a line that is complete, or as much of it as counts.
func (w *Watcher) look() {
	line := bytes.TrimSuffix(w.line, []byte("\r"))
	w.line = w.line[:0]
	for _, p := range w.patterns {
		if p.Match(line) {
			w.matched(p.String(), string(line))
			return
		}
	}
}

func (w *Watcher) matched(pattern, line string) {
	now := w.now()
	may, over := w.limit.matched(now)
	if over {
		w.tell(Notice{Kind: Over, Message: fmt.Sprintf("its output matches too often: in each of %d times %s in a row more than once", maxStrikes, interval)})
	}
	if !may {
		return
	}
	switch w.breaker.matched(now) {
	case trip:
		w.tell(Notice{Kind: Paused, Message: fmt.Sprintf("more than %d matches within %s: no more are told for %s", burst, burstWithin, pause)})
		w.limit.wasHeld()
	case silence:
		w.limit.wasHeld()
	case tell:
		held, last := w.limit.wasTold(now)
		w.tell(Notice{Kind: Match, Pattern: pattern, Line: line[:min(len(line), maxTold)], Held: held})
		if last {
			w.tell(Notice{Kind: Over, Message: fmt.Sprintf("%d matches were told, and more are not of one process", lifetime)})
		}
	}
}
