package config

import "net/netip"

// IsLoopback says whether only this machine reaches a host. A name is what a resolver makes of it at the time, so that
// none counts but the one that always is.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
