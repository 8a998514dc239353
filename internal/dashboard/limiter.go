package dashboard

import (
	"net/netip"
	"sync"
	"time"
)

// limiter bounds how often somebody may try a password: a few times at once, and then one at a time.
type limiter struct {
	now func() time.Time

	mu   sync.Mutex
	full map[netip.Prefix]time.Time // when a caller may again try as often as one who never did
}

// The bounds. All callers beyond the first so many share one.
const (
	tries       = 5
	tryEvery    = 12 * time.Second
	mostCallers = 4096
)

// network is what one caller can easily change its address in.
func network(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

// take counts a try, or says how long to wait before the next one.
func (l *limiter) take(a netip.Addr) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, now := l.key(a), l.now()
	full := l.full[key]
	if full.Before(now) {
		full = now
	}
	if wait = full.Sub(now) - (tries-1)*tryEvery; wait > 0 {
		return wait
	}
	l.full[key] = full.Add(tryEvery)
	return 0
}

// forgive forgets the tries of one who got in.
func (l *limiter) forgive(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.full, network(a))
}

func (l *limiter) key(a netip.Addr) netip.Prefix {
	key := network(a)
	if _, known := l.full[key]; known || len(l.full) < mostCallers {
		return key
	}
	for other, full := range l.full {
		if full.Before(l.now()) {
			delete(l.full, other)
		}
	}
	if len(l.full) < mostCallers {
		return key
	}
	return netip.Prefix{}
}
