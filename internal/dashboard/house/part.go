package house

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// part is something that is looked at for all who ask: not more often than it is worth, by one at a time, and not for
// longer than lookBound.
type part[T any] struct {
	life  context.Context
	every time.Duration
	look  func(context.Context) T

	turn sync.Mutex
	at   time.Time
	last atomic.Pointer[T]
}

// fresh is what is seen now, or was seen just now.
func (p *part[T]) fresh() T {
	p.turn.Lock()
	defer p.turn.Unlock()
	// One who comes back regularly must not find that it is a moment too early for the next look.
	if p.last.Load() == nil || time.Since(p.at) >= p.every-p.every/10 {
		p.at = time.Now()
		ctx, cancel := context.WithTimeout(p.life, lookBound)
		defer cancel()
		seen := p.look(ctx)
		p.last.Store(&seen)
	}
	return *p.last.Load()
}

// seen is what was seen last, and nothing if nobody looked yet.
func (p *part[T]) seen() (last T) {
	if seen := p.last.Load(); seen != nil {
		last = *seen
	}
	return last
}
