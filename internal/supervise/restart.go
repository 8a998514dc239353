package supervise

import (
	"fmt"
	"time"
)

// verdict is what an end that nobody asked for means.
type verdict int

const (
	failed verdict = iota // it comes back after a pause, unless it failed too often
	again                 // it asked to be restarted
	park                  // it asked not to be
)

// tooSoon is how long a service runs at least before "restart me" is no failure: one that asks for it at once and
// for ever is a loop like any other.
const tooSoon = time.Second

// judge says what an end after a while means, and why.
func judge(e Exit, after time.Duration) (verdict, string) {
	if e.Signal != "" {
		return failed, "killed by " + e.Signal
	}
	why := fmt.Sprintf("exit %d", e.Code)
	switch e.Code {
	case 0:
		return park, "it ended by itself (exit 0)"
	case ExitConfig:
		return park, "its configuration is bad (exit 78); its output says more"
	case ExitPermanent:
		return park, "it gave up for good (exit 125); its output says more"
	case ExitRestart:
		if after >= tooSoon {
			return again, why
		}
		return failed, "it asked for a restart as soon as it ran (exit 75)"
	}
	return failed, why
}

// defaults fills in what is zero.
func (r Restarting) defaults() Restarting {
	if r.Min <= 0 {
		r.Min = DefaultMin
	}
	if r.Max <= 0 {
		r.Max = DefaultMax
	}
	r.Max = max(r.Max, r.Min)
	if r.Burst <= 0 {
		r.Burst = DefaultBurst
	}
	if r.Window <= 0 {
		r.Window = DefaultWindow
	}
	return r
}

// pause is how long a service waits that failed so often in a row, a quarter more or less by jitter: services that
// fell together do not come back together.
func (r Restarting) pause(inARow int, jitter float64) time.Duration {
	d := r.Min
	for i := 1; i < inARow && d < r.Max; i++ {
		d *= 2
	}
	return time.Duration(float64(min(d, r.Max)) * (0.75 + jitter/2))
}

// history is how often a service failed.
type history struct {
	times  []time.Time // within the window
	inARow int         // since it was last well for long
}

// failed notes a failure of a service that was ready for a while, and says whether that is one too many. One that
// was well for as long as the longest pause begins with the shortest again.
func (h *history) failed(r Restarting, now time.Time, ready time.Duration) (tooOften bool) {
	if ready >= r.Max {
		h.inARow = 0
	}
	h.inARow++
	recent := h.times[:0]
	for _, t := range h.times {
		if now.Sub(t) < r.Window {
			recent = append(recent, t)
		}
	}
	h.times = append(recent, now)
	return len(h.times) >= r.Burst
}
