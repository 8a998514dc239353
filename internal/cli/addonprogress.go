package cli

import (
	"fmt"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon"
)

// installing shows how far the install of a feature is: a bar on a terminal, a line for each phase elsewhere. What is
// done at once is not worth a word.
type installing struct {
	app      *app
	terminal bool
	now      func() time.Time

	mu    sync.Mutex
	began time.Time
	said  addon.Phase
	line  statusLine
}

func (a *app) newInstalling() *installing {
	return &installing{app: a, terminal: isTerminal(a.stderr), now: time.Now, line: statusLine{w: a.stderr}}
}

// tell is told of every step.
func (i *installing) tell(p addon.Progress) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	if i.began.IsZero() {
		i.began = now
	}
	if now.Sub(i.began) < patience {
		return
	}
	if i.terminal {
		i.draw(p)
		return
	}
	if p.Phase != i.said {
		i.said = p.Phase
		i.app.say("%s", describeStep(p))
	}
}

func describeStep(p addon.Progress) string {
	text := string(p.Phase)
	if p.Feature != "" {
		text = p.Feature + ": " + text
	}
	if p.Phase == addon.Waiting {
		return text + " for another installation"
	}
	if p.Total > 0 {
		text += fmt.Sprintf(" %d packages", p.Total)
	}
	if p.Size > 0 && p.Phase == addon.Downloading {
		text += ", " + size(p.Size)
	}
	return text
}

// draw is called with the lock held.
func (i *installing) draw(p addon.Progress) {
	line := describeStep(p)
	if p.Total > 0 {
		line += " " + bar(int64(min(p.Done, p.Total)), int64(p.Total))
	}
	i.line.draw(line)
}

// end leaves a clean line, whatever came of it, and begins anew.
func (i *installing) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.line.clear()
	i.said, i.began = "", time.Time{}
}
