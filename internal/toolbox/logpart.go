package toolbox

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// part takes as much of a log as an answer holds.
type part interface {
	Write([]byte) (int, error)
	// taken is what was taken, and how many bytes before it were not.
	taken() (text []byte, before int64)
}

// errEnough ends the reading of a log.
var errEnough = errors.New("an answer holds no more")

// first takes the beginning, up to the end of a line if there is one near the end, else of a character.
type first struct{ text []byte }

func (f *first) Write(p []byte) (int, error) {
	if len(f.text)+len(p) <= mostLog {
		f.text = append(f.text, p...)
		return len(p), nil
	}
	f.text = append(f.text, p[:mostLog-len(f.text)]...)
	if at := bytes.LastIndexByte(f.text, '\n'); at > mostLog/2 {
		f.text = f.text[:at+1]
	} else {
		f.text = f.text[:wholeCharacters(f.text)]
	}
	return 0, errEnough
}

func (f *first) taken() ([]byte, int64) { return f.text, 0 }

// last takes the end, from the beginning of a line if there is one near the beginning, else of a character.
type last struct {
	text    []byte
	dropped int64
}

func (l *last) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if len(l.text) > 2*mostLog {
		l.drop(len(l.text) - mostLog)
	}
	return len(p), nil
}

func (l *last) drop(n int) {
	l.dropped += int64(n)
	l.text = append(l.text[:0], l.text[n:]...)
}

func (l *last) taken() ([]byte, int64) {
	if len(l.text) > mostLog {
		l.drop(len(l.text) - mostLog)
	}
	if l.dropped > 0 {
		if at := bytes.IndexByte(l.text, '\n'); at >= 0 && at < mostLog/2 {
			l.drop(at + 1)
		} else {
			for len(l.text) > 0 && !utf8.RuneStart(l.text[0]) {
				l.drop(1)
			}
		}
	}
	return l.text, l.dropped
}

// wholeCharacters is how much of a text ends with a character, and not within one.
func wholeCharacters(p []byte) int {
	for n := len(p) - 1; n >= max(0, len(p)-utf8.UTFMax); n-- {
		if utf8.RuneStart(p[n]) {
			if utf8.FullRune(p[n:]) {
				return len(p)
			}
			return n
		}
	}
	return len(p)
}
