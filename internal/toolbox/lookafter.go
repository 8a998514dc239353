package toolbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/sandbox"
)

// lookAfter fills the queue with what happens to a process: its end if that is to be told, else the lines that its
// patterns match. It ends with the process.
func (t *Toolbox) lookAfter(id string, end bool) {
	t.notices.begin(func(ctx context.Context) {
		err := t.place.Use(ctx, func(box *sandbox.Sandbox) error {
			if end {
				t.tellEnd(ctx, box.Process(id))
			} else {
				t.tellLines(ctx, box, id)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.notices.add(Notice{Time: t.now(), Process: id, Text: "what becomes of it cannot be told: " + oneLine(err)})
		}
	})
}

// tellEnd waits for the end.
func (t *Toolbox) tellEnd(ctx context.Context, p *sandbox.Process) {
	result, err := p.Wait(ctx)
	if ctx.Err() != nil {
		return
	}
	text := fmt.Sprintf("has ended with status %d", result.Code)
	switch {
	case err != nil:
		text = "can no longer be waited for: " + oneLine(err)
	case result.Reason == sandbox.Lost:
		text = "was lost: " + result.Message
	case result.Reason != sandbox.Exited:
		text += " (" + string(result.Reason) + ")"
	}
	if err == nil && result.Reason != sandbox.Lost {
		var line last
		if _, err := p.Logs(ctx, sandbox.LogOptions{Lines: 1}, &line); err == nil && len(line.text) > 0 {
			text += "; its last line: " + t.line(string(line.text))
		}
	}
	t.notices.add(Notice{Time: t.now(), Process: p.ID, Text: text})
}

// tellLines passes on events until the process has ended, and then those that are still on their way.
func (t *Toolbox) tellLines(ctx context.Context, box *sandbox.Sandbox, id string) {
	runs, ended := context.WithCancel(ctx)
	defer ended()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		box.Process(id).Wait(runs)
		ended()
	}()
	seen := uint64(0)
	for e, err := range box.Events(runs, 0) {
		if err != nil {
			break
		}
		seen = e.Number
		t.tellEvent(e, id)
	}
	ended()
	<-waited
	rest, cancel := context.WithTimeout(ctx, restBound)
	defer cancel()
	if events, err := box.PastEvents(rest, seen); err == nil {
		for _, e := range events {
			t.tellEvent(e, id)
		}
	}
}

// restBound is how long the last events may take to come.
const restBound = 5 * time.Second

func (t *Toolbox) tellEvent(e sandbox.Event, id string) {
	if e.Process != id {
		return
	}
	text := e.Message
	if e.Kind == sandbox.EventMatch {
		text = fmt.Sprintf("printed a line that matches %q: %s", e.Pattern, t.line(e.Line))
		if e.Held > 0 {
			text += fmt.Sprintf(" (%d more before it)", e.Held)
		}
	}
	if text != "" {
		t.notices.add(Notice{Time: e.Time, Process: id, Text: text})
	}
}

// longestNotice is how much of a line a notice has.
const longestNotice = 500

// line is a line of output as a notice may show it.
func (t *Toolbox) line(text string) string {
	_, secrets, err := t.environment()
	if err != nil {
		return "[not shown: " + oneLine(err) + "]"
	}
	shown := []rune(strings.TrimSpace(shown(text, secrets)))
	return string(shown[:min(len(shown), longestNotice)])
}
