package cli

import (
	"fmt"
	"sync"
	"time"
)

// fetching shows how far the layers of an image are: a bar on a terminal, a line for
// each whole layer elsewhere. Its zero bar is replaced by a line only when there is
// something to wait for.
type fetching struct {
	app      *app
	terminal bool
	now      func() time.Time

	mu     sync.Mutex
	began  time.Time
	drawn  time.Time
	line   statusLine
	layers map[string]layerProgress
}

type layerProgress struct {
	done, total int64
	told        bool
}

const (
	drawEvery = 100 * time.Millisecond
	// patience is how long a fetch may take before anything is said of it.
	patience = 300 * time.Millisecond
)

func (a *app) newFetching() *fetching {
	return &fetching{app: a, terminal: isTerminal(a.stderr), now: time.Now, line: statusLine{w: a.stderr}, layers: make(map[string]layerProgress)}
}

// Layer is told of a layer by the image store.
func (f *fetching) Layer(digest string, done, total int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.began.IsZero() {
		f.began = now
	}
	l, known := f.layers[digest]
	if !known && done >= total {
		l.told = true // it was there already
	}
	l.done, l.total = done, total
	whole := total > 0 && done >= total
	switch {
	case f.terminal:
		f.layers[digest] = l
		if now.Sub(f.began) >= patience && (now.Sub(f.drawn) >= drawEvery || f.whole()) {
			f.drawn = now
			f.draw()
		}
		return
	case whole && !l.told:
		l.told = true
		f.app.say("fetched layer %s, %s", shortDigest(digest), size(total))
	}
	f.layers[digest] = l
}

func (f *fetching) whole() bool {
	for _, l := range f.layers {
		if l.done < l.total {
			return false
		}
	}
	return true
}

// draw is called with the lock held.
func (f *fetching) draw() {
	if f.whole() {
		f.line.clear()
		return
	}
	var done, total int64
	for _, l := range f.layers {
		done, total = done+l.done, total+max(l.total, l.done)
	}
	f.line.draw(fmt.Sprintf("fetching image %s %s of %s", bar(done, total), size(done), size(total)))
}

// end leaves a clean line, whatever became of the fetch.
func (f *fetching) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.line.clear()
}
