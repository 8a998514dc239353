package backend

import (
	"errors"
	"maps"
	"time"

	"hermes.example/hermes/internal/addon/unavailable"
)

// failureRecord is how often a process has failed in a row, and until when it is not started again.
type failureRecord struct {
	times  int
	reason string
	until  time.Time
}

// longest is how long a process is not started again at most.
const longest = time.Minute

// wait is how long nobody starts a process again that has failed so many times in a row. After the first time it is
// started at once: most that fail do so by what they were asked.
func wait(times int) time.Duration {
	if times < 2 {
		return 0
	}
	return min(time.Second<<min(times-2, 10), longest)
}

// failed notes a failure. Those that nobody has repeated for a while are forgotten.
func (p *Pool) failed(k key, why error) {
	now := p.o.Now()
	maps.DeleteFunc(p.failures, func(_ key, f *failureRecord) bool { return now.Sub(f.until) > 2*longest })
	f := p.failures[k]
	if f == nil {
		f = &failureRecord{}
		p.failures[k] = f
	}
	f.times++
	f.reason, f.until = why.Error(), now.Add(wait(f.times))
	var known *unavailable.Error
	if errors.As(why, &known) {
		f.reason = known.Reason
	}
}
