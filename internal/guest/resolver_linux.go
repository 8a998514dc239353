package guest

import (
	"net"
	"sync/atomic"
)

// resolver answers name lookups in a sandbox that has no network: at once, and
// with a refusal, so that a program fails now instead of after its timeouts. It
// also knows that somebody asked, which is what lets us tell a person why.
type resolver struct {
	conn  *net.UDPConn
	asked atomic.Int64
}

// ListenForLookups opens the socket that /etc/resolv.conf of a sandbox without
// network points to. It needs the right to bind low ports.
func ListenForLookups() (*net.UDPConn, error) {
	return net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53})
}

func newResolver(conn *net.UDPConn) *resolver { return &resolver{conn: conn} }

// run refuses queries until its socket is closed.
func (r *resolver) run() {
	var packet [512]byte
	for {
		n, from, err := r.conn.ReadFromUDP(packet[:])
		if err != nil {
			return
		}
		if refuse(packet[:n]) {
			r.asked.Add(1)
			r.conn.WriteToUDP(packet[:n], from)
		}
	}
}

// refuse turns a DNS query into its answer: the same message, marked as a
// response that was refused.
func refuse(message []byte) bool {
	const header, response, refused = 12, 0x80, 5
	if len(message) < header || message[2]&response != 0 {
		return false
	}
	message[2] |= response
	message[3] = message[3]&0xf0 | refused
	return true
}

// lookups says how many names were asked for so far.
func (r *resolver) lookups() int64 {
	if r == nil {
		return 0
	}
	return r.asked.Load()
}

const noNetworkHint = "hermes: this sandbox has no network; to give it one, create it with --network host"
