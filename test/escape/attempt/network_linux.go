package main

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

func socket(family, kind, protocol int) func(world) error {
	return func(world) error { return opened(unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)) }
}

// missing are the answers of a kernel without a kind of socket.
var missing = []syscall.Errno{unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT}

var networkAttempts = []attempt{
	{name: "raw socket", try: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{name: "raw IPv6 socket", try: socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6), refused: missing},
	{name: "packet socket", try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0), refused: missing},
	{name: "vsock socket", try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), refused: missing},
	{name: "kernel crypto socket (AF_ALG)", try: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), refused: missing},
	{name: "abstract socket of the host", try: func(w world) error { return connect(unix.SOCK_STREAM, w.Abstract) }, refused: []syscall.Errno{unix.ECONNREFUSED}},
	{name: "abstract datagram socket of the host", try: func(w world) error { return connect(unix.SOCK_DGRAM, w.Datagram) }, refused: []syscall.Errno{unix.ECONNREFUSED}},
	{name: "firewall (nf_tables)", try: func(world) error {
		return netlink(unix.NETLINK_NETFILTER, unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, 4)
	}, refused: missing},
	{name: "network devices (RTM_DELLINK)", try: func(world) error { return netlink(unix.NETLINK_ROUTE, unix.RTM_DELLINK, 16) }, past: []syscall.Errno{unix.EINVAL, unix.ENODEV}},
	{name: "audit", try: func(world) error {
		const get = 1000
		return netlink(unix.NETLINK_AUDIT, get, 0)
	}, refused: append(missing, unix.ECONNREFUSED)},
}

// connect reaches for a unix socket. A name that begins with @ is abstract.
func connect(kind int, name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

// netlink sends a request of zeroes, which asks or names nothing that exists, and
// returns the kernel's answer.
func netlink(protocol int, kind uint16, body int) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request := make([]byte, unix.SizeofNlMsghdr+body)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], kind)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 8192)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n >= unix.SizeofNlMsghdr+4 && binary.NativeEndian.Uint16(answer[4:]) == unix.NLMSG_ERROR {
		if errno := -int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
			return syscall.Errno(errno)
		}
	}
	return nil
}
