package mcp

import (
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/configured"
)

// lookEvery is how often it is looked which add-ons are there: somebody else may install some.
const lookEvery = 5 * time.Second

// lookAtAddons keeps the list of tools as it should be, as long as the door is open.
func (d *Door) lookAtAddons() {
	ticker := time.NewTicker(d.look)
	defer ticker.Stop()
	look := lookout{every: d.look}
	for {
		if state := d.installed(); look.due(state, time.Now()) {
			whole := d.offer(d.Addons.Offered(d.life), d.Addons.Manager().Feature)
			look.looked(state, whole, time.Now())
		}
		select {
		case <-d.life.Done():
			return
		case <-d.looks:
		case <-ticker.C:
		}
	}
}

// lookout says when the add-ons are to be asked for their tools: when others are there than the last time, and again, ever
// more rarely, while one of them does not answer.
type lookout struct {
	every time.Duration
	seen  string
	asked bool
	again time.Time // zero when all have answered
	pause time.Duration
}

// longestPause is how long one that does not answer is left alone at the most.
const longestPause = 5 * time.Minute

func (l *lookout) due(state string, now time.Time) bool {
	return !l.asked || state != l.seen || !l.again.IsZero() && !now.Before(l.again)
}

func (l *lookout) looked(state string, whole bool, now time.Time) {
	if !l.asked || state != l.seen {
		l.pause = l.every
	}
	l.asked, l.seen, l.again = true, state, time.Time{}
	if !whole {
		l.again, l.pause = now.Add(l.pause), min(2*l.pause, longestPause)
	}
}

// lookSoon has it looked at once: something may have been installed.
func (d *Door) lookSoon() {
	select {
	case d.looks <- struct{}{}:
	default: // it is asked already
	}
}

// installed tells one state of the store from another.
func (d *Door) installed() string {
	var b strings.Builder
	status := d.Addons.Status(d.life)
	b.WriteString(status.Generation)
	for _, f := range status.Features {
		if f.State == addon.Installed || f.State == addon.Core {
			b.WriteString(" " + f.Name)
		}
	}
	return b.String()
}

// offer lists the tools of the features that are there, and takes those from the list that are not any more. Those of a
// feature that did not answer stay as they are, and it is to be asked again.
func (d *Door) offer(all []configured.Offered, find func(name string) (feature.Feature, error)) (whole bool) {
	there, silent := make(map[string]string), make(map[string]bool)
	for _, offered := range all {
		if offered.Failed && d.life.Err() == nil {
			silent[offered.Feature] = true
			d.Log.Warn("an add-on does not tell its tools", "feature", offered.Feature, "why", offered.Reason)
		}
		f, err := find(offered.Feature)
		if err != nil {
			continue
		}
		for _, tool := range offered.Tools {
			if strings.HasPrefix(f.Name, choice.Search+".") && slices.Contains(webTools, tool.Name) {
				continue
			}
			name := ToolName(f.Name, tool.Name)
			if d.list(name, f, tool) {
				there[name] = f.Name
			}
		}
	}
	d.mu.Lock()
	var gone []string
	for name, feature := range d.offered {
		switch _, listed := there[name]; {
		case listed:
		case silent[feature]:
			there[name] = feature
		default:
			gone = append(gone, name)
		}
	}
	d.offered = there
	d.mu.Unlock()
	d.server.RemoveTools(gone...)
	return len(silent) == 0
}
