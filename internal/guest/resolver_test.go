//go:build linux

package guest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

func TestLookupsAreRefusedAtOnceAndCounted(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := newResolver(conn)
	go r.run()
	client := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	began := time.Now()
	_, err = client.LookupHost(t.Context(), "name.invalid.")
	var dns *net.DNSError
	if !errors.As(err, &dns) || dns.IsTimeout {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
	if r.lookups() == 0 {
		t.Error("the lookup was not counted")
	}
	if refuse([]byte("short")) || refuse(append([]byte{0, 0, 0x80, 0}, make([]byte, 8)...)) {
		t.Error("answered what is no query")
	}
}
