package containerargs

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"hermes.example/hermes/sandbox"
)

// network reads --network: one of the kinds, the name of one, or container:NAME.
func (p *parser) network(value string) error {
	network, name := sandbox.Network(value), ""
	switch value {
	case "none", "host", "bridge":
	case "default":
		network = sandbox.NetworkBridge
	case "":
		return errors.New("it is empty; write none, bridge, host or the name of a network")
	default:
		if strings.Contains(value, "=") {
			return errors.New("write its name alone, and --ip, --network-alias and --mac-address beside it")
		}
		network, name = sandbox.NetworkBridge, value
	}
	if p.said.Network != "" && (p.said.Network != network || p.container.Network != name) {
		return errors.New("a sandbox is in one network; leave the others out")
	}
	p.said.Network, p.container.Network = network, name
	return nil
}

// addHost reads NAME:ADDRESS, or NAME=ADDRESS with an address in brackets or not.
func (p *parser) addHost(value string) error {
	name, address, ok := strings.Cut(value, "=")
	if !ok {
		name, address, ok = strings.Cut(value, ":")
	}
	if !ok {
		return errors.New("it is not NAME:ADDRESS")
	}
	if inner, bracketed := strings.CutPrefix(address, "["); bracketed {
		address = strings.TrimSuffix(inner, "]")
	}
	p.container.Hosts = append(p.container.Hosts, name+":"+address)
	return nil
}

// maxPorts is how many one flag may publish: each of them is a rule in the host's
// firewall.
const maxPorts = 1000

// publish reads [[ADDRESS:][HOST]:]PORT[/PROTOCOL], where both ports may be ranges of
// the same length.
func (p *parser) publish(value string) error {
	if strings.Contains(value, "=") {
		return errors.New("write it as HOST:PORT")
	}
	rest, protocol, given := strings.Cut(value, "/")
	if !given {
		protocol = "tcp"
	}
	address, host, inside, err := splitPort(rest)
	if err != nil {
		return err
	}
	first, last, err := portRange(inside)
	if err != nil {
		return err
	}
	var outer, outerLast uint16
	if host != "" {
		if outer, outerLast, err = portRange(host); err != nil {
			return err
		}
		if outerLast-outer != last-first {
			return fmt.Errorf("%s and %s are not equally many ports", host, inside)
		}
	}
	if last-first >= maxPorts {
		return fmt.Errorf("these are more than %d ports; use --network host", maxPorts)
	}
	for i := range int(last-first) + 1 {
		port := sandbox.Port{Address: address, Port: first + uint16(i), Protocol: strings.ToLower(protocol)}
		if host != "" {
			port.Host = outer + uint16(i)
		}
		p.container.Ports = append(p.container.Ports, port)
	}
	return nil
}

// splitPort takes apart what is before the protocol. An IPv6 address is in brackets.
func splitPort(text string) (address, host, port string, err error) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		var found bool
		if address, text, found = strings.Cut(inner, "]:"); !found {
			return "", "", "", errors.New("the bracket before the address is not closed")
		}
	} else if parts := strings.SplitN(text, ":", 3); len(parts) == 3 {
		address, text = parts[0], parts[1]+":"+parts[2]
	}
	if address != "" {
		a, err := netip.ParseAddr(address)
		if err != nil {
			return "", "", "", fmt.Errorf("%q is not an address", address)
		}
		if address = a.String(); a.IsUnspecified() && a.Is4() {
			address = "" // all of them
		}
	}
	host, port, both := strings.Cut(text, ":")
	if !both {
		host, port = "", text
	}
	return address, host, port, nil
}

func portRange(text string) (first, last uint16, err error) {
	from, to, both := strings.Cut(text, "-")
	if !both {
		to = from
	}
	a, err1 := strconv.ParseUint(from, 10, 16)
	b, err2 := strconv.ParseUint(to, 10, 16)
	if err1 != nil || err2 != nil || a == 0 || b < a {
		return 0, 0, fmt.Errorf("%q is not a port or a range of them", text)
	}
	return uint16(a), uint16(b), nil
}
