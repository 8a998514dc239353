package house

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// part is something that is looked at for all who want to see it, by one at a time and not for longer than lookBound.
type part[T any] struct {
	life  context.Context
	every time.Duration // how often it is worth a look when nobody asks for it
	look  func(context.Context) T

	turn sync.Mutex
	at   time.Time
	last atomic.Pointer[T]
}

// now is what is there: who has just changed something sees it. Those who ask while another looks share the next look.
func (p *part[T]) now() T { return p.since(time.Now()) }

// fresh is what is seen now, or was seen just now. One who comes back regularly must not find that it is a moment too early
// for the next look.
func (p *part[T]) fresh() T { return p.since(time.Now().Add(p.every/10 - p.every)) }

// since is what was seen by a look that began at a time or later.
func (p *part[T]) since(begin time.Time) T {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.last.Load() == nil || p.at.Before(begin) {
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
