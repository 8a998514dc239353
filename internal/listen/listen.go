// Package listen opens the ports of servers. The gateway and the dashboard use it; it decides nothing about who may
// connect.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// TCP listens on a port of a host. An address of IPv4 means just that: asked for 0.0.0.0, the standard library alone
// would let IPv6 in too.
func TCP(ctx context.Context, host string, port int) (net.Listener, error) {
	network := "tcp"
	if address, err := netip.ParseAddr(host); err == nil && address.Is4() {
		network = "tcp4"
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, network, address)
	if err != nil {
		if failed := (*net.OpError)(nil); errors.As(err, &failed) {
			err = failed.Err // the rest repeats the address
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}
