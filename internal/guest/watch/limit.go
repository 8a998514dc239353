package watch

import (
	"sync"
	"time"
)

// How much is told of one process.
const (
	// interval is how far apart two told matches are at least.
	interval = 15 * time.Second
	// maxStrikes is after how many intervals in a row with matches that could not
	// be told the watch ends.
	maxStrikes = 3
	// lifetime is how many matches are told at most.
	lifetime = 8
)

// state is where the watch of a process is.
type state int

const (
	open    state = iota // the next match may be told
	cooling              // one was told, and its interval is not over
	struck               // the same, and a match was held back in it
	ended                // nothing is told any more
)

// limit keeps a process from saying too much. It knows no clock: every event has
// its time.
type limit struct {
	state   state
	until   time.Duration // when the interval is over
	strikes int           // intervals in a row that had matches held back
	told    int
	held    int // matches since the last that was told
}

// matched is the event of a match. It says whether the match may be told now, and
// whether with it the watch has ended.
func (l *limit) matched(now time.Duration) (tell, over bool) {
	l.elapse(now)
	switch l.state {
	case open:
		return true, false
	case cooling:
		l.held++
		l.strikes++
		l.state = struck
		if l.strikes == maxStrikes {
			l.state = ended
			return false, true
		}
	case struck:
		l.held++
	case ended:
	}
	return false, false
}

// wasTold is the event of a match that was told. It returns how many before it
// were not, and whether it was the last that ever is.
func (l *limit) wasTold(now time.Duration) (held int, over bool) {
	held, l.held = l.held, 0
	l.told++
	l.state, l.until = cooling, now+interval
	if l.told == lifetime {
		l.state = ended
	}
	return held, l.state == ended
}

// wasHeld is the event of a match that this process might have told, but all of
// them together might not.
func (l *limit) wasHeld() { l.held++ }

// elapse ends an interval that is over. One in which nothing was held back
// forgives those before it.
func (l *limit) elapse(now time.Duration) {
	if l.state != cooling && l.state != struck || now < l.until {
		return
	}
	if l.state == cooling {
		l.strikes = 0
	}
	l.state = open
}

// How much is told of all processes of a sandbox together.
const (
	burst       = 15
	burstWithin = 10 * time.Second
	pause       = 30 * time.Second
)

// Breaker keeps all processes together from saying too much.
type Breaker struct {
	mu     sync.Mutex
	told   []time.Duration // the last ones
	paused time.Duration   // until then nothing is told
}

// verdict is what the breaker says to a match.
type verdict int

const (
	tell    verdict = iota
	trip            // this one is too much: the pause begins
	silence         // the pause is not over
)

// matched is the event of a match that its process may tell.
func (b *Breaker) matched(now time.Duration) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now < b.paused {
		return silence
	}
	for len(b.told) > 0 && now-b.told[0] >= burstWithin {
		b.told = b.told[1:]
	}
	if len(b.told) == burst {
		b.told, b.paused = nil, now+pause
		return trip
	}
	b.told = append(b.told, now)
	return tell
}
