package cli

import (
	"fmt"
	"io"
	"strings"
)

// statusLine is the last line of a terminal, drawn over and over.
type statusLine struct {
	w     io.Writer
	shown int // width of what stands there
}

func (l *statusLine) draw(text string) {
	fmt.Fprint(l.w, "\r"+text+strings.Repeat(" ", max(0, l.shown-len(text))))
	l.shown = len(text)
}

// clear leaves the line empty.
func (l *statusLine) clear() {
	if l.shown > 0 {
		fmt.Fprint(l.w, "\r"+strings.Repeat(" ", l.shown)+"\r")
		l.shown = 0
	}
}

const barWidth = 24

// bar shows how much of something is done.
func bar(done, total int64) string {
	filled := int(barWidth * done / max(total, 1))
	return "[" + strings.Repeat("#", filled) + strings.Repeat(".", barWidth-filled) + "]"
}
