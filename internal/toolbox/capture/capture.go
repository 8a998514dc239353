// Package capture makes of a command's output what a model is shown of it: plain text without secrets, bounded in
// length, with a file for all of it where it was too long.
//
// The toolbox writes to it while a command runs. It must never hold more of an output in memory than a few times what
// it shows, nor let a secret into the file that it would not show.
package capture

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Options of a Capture.
type Options struct {
	// Limit is how many characters are shown.
	Limit int
	// Secrets are values that are not shown.
	Secrets []string
	// Home is where the file goes, below cache/terminal-output; empty means that there is none.
	Home string
	Now  func() time.Time
}

// Capture takes the output of one command. Write and Progress may be called at the same time.
type Capture struct {
	mu       sync.Mutex
	bytes    int64
	clean    cleaner
	redact   *redactor
	window   window
	spill    *spill
	spillErr error
	options  Options
}

// New returns a capture for one command.
func New(o Options) *Capture {
	c := &Capture{options: o}
	c.window = window{limit: o.Limit, overflow: c.overflow}
	c.redact = newRedactor(o.Secrets, c.take)
	c.clean.out = c.redact.write
	return c
}

// Write takes output as it comes. It never fails: an output that cannot be kept must not end its command.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(len(p))
	c.clean.write(p)
	return len(p), nil
}

// take gets the text that may be shown.
func (c *Capture) take(p []byte) {
	if c.spill != nil {
		c.spill.write(p)
	}
	c.window.write(p)
}

// overflow begins the file, with all there is so far.
func (c *Capture) overflow(all []byte) {
	if c.options.Home == "" {
		return
	}
	file, err := newSpill(c.options.Home, c.options.Now())
	if err != nil {
		c.spillErr = err
		return
	}
	file.write(all)
	c.spill = file
}

// Progress is how many bytes there are so far, and the last whole line of them.
func (c *Capture) Progress() (size int64, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.window.end()
	if at := bytes.LastIndexByte(end, '\n'); at >= 0 {
		end = end[:at]
	}
	end = end[bytes.LastIndexByte(end, '\n')+1:]
	return c.bytes, string(end[:chars(end, longestLine)])
}

const longestLine = 200

// Text is what is shown of an output.
type Text struct {
	Text string
	// Total is how many characters the whole has, Cut whether Text is not all of them.
	Total int64
	Cut   bool
	// File has all of it, or its beginning, if it was cut.
	File string
	// Remark says what is not as it should be with the file.
	Remark string
}

// Finish returns what is shown. The status is the line that the sandbox has put behind the output of a command that it
// ended, or empty; it is shown whatever else is not. Nothing may be written afterwards.
func (c *Capture) Finish(status string) Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clean.finish()
	c.redact.finish()
	suffix := ""
	if status != "" {
		if end := status + "\n"; bytes.HasSuffix(c.window.end(), []byte(end)) {
			c.window.cutEnd(len(end))
		}
		suffix = status
		if end := c.window.end(); len(end) > 0 && end[len(end)-1] != '\n' {
			suffix = "\n" + suffix
		}
	}
	var t Text
	t.Text = c.window.answer(suffix, func() string {
		if c.spill == nil {
			return ""
		}
		return c.spill.path
	})
	t.Total, t.Cut = c.window.total, c.window.over
	if c.spill != nil {
		t.File = c.spill.path
		t.Remark = c.spill.finish()
	} else if c.spillErr != nil {
		t.Remark = "the whole output could not be kept in a file: " + strings.TrimSuffix(c.spillErr.Error(), "\n")
	}
	return t
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
