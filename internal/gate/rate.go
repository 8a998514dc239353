package gate

import (
	"sync"
	"time"
)

// Rate bounds how often somebody does something: so many times at once, and then one by one. The zero value of what it
// remembers means somebody who never did.
type Rate[K comparable] struct {
	burst int
	every time.Duration
	most  int
	now   func() time.Time

	mu   sync.Mutex
	full map[K]time.Time // when somebody may again do it as often as one who never did
}

// NewRate lets everybody do something burst times at once, and then once every so often. Of at most so many it knows
// who they are: all others share one account, that of the zero K.
func NewRate[K comparable](burst int, every time.Duration, most int, now func() time.Time) *Rate[K] {
	return &Rate[K]{burst: burst, every: every, most: most, now: now, full: make(map[K]time.Time)}
}

// NewSharedRate lets all together do something so many times a second, and twice as many at once.
func NewSharedRate(aSecond int) *Rate[struct{}] {
	return NewRate[struct{}](2*aSecond, time.Second/time.Duration(aSecond), 1, time.Now)
}

// Take counts one time, or says how long to wait before the next one.
func (r *Rate[K]) Take(who K) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	who = r.account(who)
	now := r.now()
	full := r.full[who]
	if full.Before(now) {
		full = now
	}
	if wait = full.Sub(now) - time.Duration(r.burst-1)*r.every; wait > 0 {
		return wait
	}
	r.full[who] = full.Add(r.every)
	return 0
}

// Forgive forgets all times of somebody.
func (r *Rate[K]) Forgive(who K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.full, who)
}

func (r *Rate[K]) account(who K) K {
	if _, known := r.full[who]; known || len(r.full) < r.most {
		return who
	}
	for other, full := range r.full {
		if full.Before(r.now()) {
			delete(r.full, other)
		}
	}
	if len(r.full) < r.most {
		return who
	}
	var shared K
	return shared
}
