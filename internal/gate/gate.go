// Package gate is what stands before a door that speaks HTTP: which names it goes by, and how much is let through. The
// gateway and the dashboard use it. Who somebody is it does not know.
package gate

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Hosts are the names by which a door may be asked for. A browser whose page made a name of its own lead to this
// address still says that name, and so is found out.
type Hosts struct {
	names []string
	// near lets everything in that no page elsewhere can have made: addresses, and names without a dot.
	near bool
	any  bool
}

// AnyName in a list of names stands for all of them.
const AnyName = "*"

// NewHosts are the names of an address that is listened on, and those by which people know it. On loopback these are
// loopback's. Where every address of the machine is listened on, nobody here knows the names by which it is reached:
// then an address and a name without a dot are believed, for nobody can register those.
func NewHosts(listen string, loopback bool, names ...string) Hosts {
	h := Hosts{names: []string{strings.ToLower(listen)}}
	if address, err := netip.ParseAddr(listen); err == nil && address.IsUnspecified() {
		h.names, h.near, loopback = nil, true, true
	}
	if loopback {
		h.names = append(h.names, "localhost", "127.0.0.1", "::1")
	}
	for _, name := range names {
		h.names = append(h.names, strings.ToLower(name))
		h.any = h.any || name == AnyName
	}
	return h
}

// Allow says whether a request that has this Host is meant for the door.
func (h Hosts) Allow(host string) bool {
	name := hostname(host)
	if h.any || slices.Contains(h.names, name) {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return h.near
	}
	return h.near && name != "" && !strings.Contains(name, ".")
}

// hostname is a host without its port.
func hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(name)
}
