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

func newLimiter(now func() time.Time) *gate.Rate[netip.Prefix] {
	return gate.NewRate[netip.Prefix](tries, tryEvery, mostCallers, now)
}

// network is what one caller can easily change its address in.
func network(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}
