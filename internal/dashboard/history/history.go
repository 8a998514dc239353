// Package history remembers what a home used in the last hour: processor time, memory, and how many commands ended.
//
// The house of the dashboard samples it every ten seconds and shows it as plots. It keeps one hour in memory, however
// long it runs, and nothing anywhere else: with the dashboard it begins anew.
package history

import (
	"sync"
	"time"
)

// Step is how far samples are apart, and Length how many are kept.
const (
	Step   = 10 * time.Second
	Length = 360
)

// Sample is what was used in one step. What is nil is not known.
type Sample struct {
	// CPU is in percent of all processors of the machine.
	CPU *float64
	// Memory is in bytes, at the end of the step.
	Memory *int64
	// Commands is how many ended.
	Commands *int64
}

// Hour is the last hour, oldest first. What is not known is null.
type Hour struct {
	Step     int        `json:"step"` // in seconds
	End      int64      `json:"end"`  // of the last step, in seconds since 1970
	CPU      []*float64 `json:"cpu"`
	Memory   []*int64   `json:"memory"`
	Commands []*int64   `json:"commands"`
}

// History is the last hour. It is safe for concurrent use; the zero value is an hour in which nothing is known.
type History struct {
	mu      sync.Mutex
	samples [Length]Sample
	last    int64 // the step of the newest sample, counted from 1970
}

func stepOf(at time.Time) int64 { return at.Unix() / int64(Step/time.Second) }

// Next is how long to wait for the middle of the next step: who samples then meets every step, if not to the second.
func Next(now time.Time) time.Duration {
	return now.Truncate(Step).Add(Step + Step/2).Sub(now)
}

// Add remembers a sample of the step that a time lies in. Steps that nobody sampled stay unknown.
func (h *History) Add(at time.Time, s Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	step := stepOf(at)
	h.forget(step)
	if step > h.last-Length {
		h.samples[step%Length] = s
	}
}

// forget makes room up to a step. A clock that was set back changes nothing.
func (h *History) forget(until int64) {
	for step := max(h.last, until-Length) + 1; step <= until; step++ {
		h.samples[step%Length] = Sample{}
	}
	h.last = max(h.last, until)
}

// Hour is the hour before a time. A step that has just begun and was not sampled yet is not part of it.
func (h *History) Hour(now time.Time) Hour {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(stepOf(now))
	last, seconds := h.last, int64(Step/time.Second)
	if h.samples[last%Length] == (Sample{}) {
		last--
	}
	hour := Hour{Step: int(seconds), End: (last + 1) * seconds,
		CPU: make([]*float64, Length), Memory: make([]*int64, Length), Commands: make([]*int64, Length)}
	for i := range int64(Length) {
		s := h.samples[(last+1+i)%Length] // the oldest of them is the one that was not sampled yet, if it is left out
		hour.CPU[i], hour.Memory[i], hour.Commands[i] = s.CPU, s.Memory, s.Commands
	}
	return hour
}
