package docker

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// overrideNetwork adds who the container is in a network, and whom it knows there.
func overrideNetwork(o *client.ContainerCreateOptions, c *sandbox.Container) error {
	o.Config.Hostname, o.Config.Domainname = c.Hostname, c.Domainname
	h := o.HostConfig
	h.ExtraHosts, h.DNSSearch, h.DNSOptions = c.Hosts, c.DNSSearch, c.DNSOptions
	for _, server := range c.DNS {
		address, err := netip.ParseAddr(server)
		if err != nil {
			return err
		}
		h.DNS = append(h.DNS, address)
	}
	if err := publish(o, c.Ports); err != nil {
		return err
	}
	if c.Network != "" {
		h.NetworkMode = container.NetworkMode(c.Network)
	}
	endpoint, err := endpointOf(c)
	if err == nil && endpoint != nil {
		o.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{string(h.NetworkMode): endpoint}}
	}
	return err
}

// endpointOf is who the container is in its network, or nil if that is the daemon's to say.
func endpointOf(c *sandbox.Container) (*network.EndpointSettings, error) {
	if c.IP == "" && c.IP6 == "" && c.MAC == "" && len(c.NetworkAliases) == 0 {
		return nil, nil
	}
	endpoint := &network.EndpointSettings{Aliases: c.NetworkAliases}
	var err error
	if c.MAC != "" {
		var mac net.HardwareAddr
		mac, err = net.ParseMAC(c.MAC)
		endpoint.MacAddress = network.HardwareAddr(mac)
	}
	if c.IP != "" || c.IP6 != "" {
		endpoint.IPAMConfig = new(network.EndpointIPAMConfig)
	}
	for _, address := range []struct {
		text string
		to   func(netip.Addr)
	}{
		{c.IP, func(a netip.Addr) { endpoint.IPAMConfig.IPv4Address = a }},
		{c.IP6, func(a netip.Addr) { endpoint.IPAMConfig.IPv6Address = a }},
	} {
		if address.text == "" || err != nil {
			continue
		}
		var a netip.Addr
		if a, err = netip.ParseAddr(address.text); err == nil {
			address.to(a)
		}
	}
	return endpoint, err
}

// publish makes ports reachable from outside.
func publish(o *client.ContainerCreateOptions, ports []sandbox.Port) error {
	if len(ports) == 0 {
		return nil
	}
	o.Config.ExposedPorts, o.HostConfig.PortBindings = network.PortSet{}, network.PortMap{}
	for _, p := range ports {
		port, ok := network.PortFrom(p.Port, network.IPProtocol(p.Protocol))
		if !ok {
			return fmt.Errorf("%v is not a port to publish", p)
		}
		var binding network.PortBinding
		if p.Address != "" {
			address, err := netip.ParseAddr(p.Address)
			if err != nil {
				return err
			}
			binding.HostIP = address
		}
		if p.Host != 0 {
			binding.HostPort = fmt.Sprint(p.Host)
		}
		o.Config.ExposedPorts[port] = struct{}{}
		o.HostConfig.PortBindings[port] = append(o.HostConfig.PortBindings[port], binding)
	}
	return nil
}

// portNumber reads one that the daemon wrote; zero means none.
func portNumber(text string) uint16 {
	n, _ := strconv.ParseUint(text, 10, 16)
	return uint16(n)
}
