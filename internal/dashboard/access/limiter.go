package access

import (
	"net/netip"
	"time"

	"hermes.example/hermes/internal/gate"
)

// The bounds on tries of a password: a few at once, and then one at a time. All callers beyond the first so many share
// one account.
const (
	tries       = 5
	tryEvery    = 12 * time.Second
	mostCallers = 4096
)

// limiter bounds tries of a password. Who is near, on this machine or in a network of one's own, is counted apart: when
// so many elsewhere try that they share one account, of which little is ever left, somebody can still come in.
type limiter struct{ near, far *gate.Rate[netip.Prefix] }

func newLimiter(now func() time.Time) limiter {
	rate := func() *gate.Rate[netip.Prefix] {
		return gate.NewRate[netip.Prefix](tries, tryEvery, mostCallers, now)
	}
	return limiter{rate(), rate()}
}

// take counts a try, or says how long to wait before the next one.
func (l limiter) take(caller netip.Addr) (wait time.Duration) {
	return l.of(caller).Take(network(caller))
}

// forgive forgets the tries of somebody who got in.
func (l limiter) forgive(caller netip.Addr) { l.of(caller).Forgive(network(caller)) }

func (l limiter) of(a netip.Addr) *gate.Rate[netip.Prefix] {
	if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() {
		return l.near
	}
	return l.far
}

// network is what one caller can easily change its address in: of IPv6 a whole site, of which anybody can have one.
func network(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 48
	}
	p, _ := a.Prefix(bits)
	return p
}
