package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Gateway is what the configuration says about a profile's door to the network. Variables win over the file here:
// they are what a container is started with.
type Gateway struct {
	// Host and Port are where it listens (API_SERVER_HOST, API_SERVER_PORT; in the file host and port in
	// platforms.api_server.extra). Port 0 is any that is free.
	Host string
	Port int
	// Key opens it (API_SERVER_KEY; in the file key in platforms.api_server.extra).
	Key Secret
	// Hosts are names that it is asked for by, beside those that it knows itself; "*" is any (API_SERVER_HOSTS, with
	// commas; in the file hosts). Origins are those whose pages may use it (API_SERVER_ORIGINS; in the file origins).
	Hosts, Origins []string
	// Rate is how many requests a second are taken, and Concurrency how many at a time (API_SERVER_RATE and
	// API_SERVER_CONCURRENCY; in the file rate and concurrency).
	Rate, Concurrency int
}

// The gateway's defaults. In our image a port that is published leads to every address of the container, and on a
// host nobody else is to be let in without being asked for.
const (
	DefaultGatewayPort = 8642
	LoopbackHost       = "127.0.0.1"
	AnyHost            = "0.0.0.0"

	DefaultGatewayRate        = 1000
	DefaultGatewayConcurrency = 1024
)

// Gateway reads what is configured about the profile's gateway.
func (c Config) Gateway() (Gateway, error) {
	g := Gateway{Host: LoopbackHost, Port: DefaultGatewayPort, Rate: DefaultGatewayRate, Concurrency: DefaultGatewayConcurrency}
	if inImage(installMark) {
		g.Host = AnyHost
	}
	s, err := c.door("platforms")
	if err != nil {
		return Gateway{}, err
	}
	s.either("API_SERVER_HOST", "platforms", "api_server", "extra", "host").setText(&g.Host)
	g.Key = NewSecret(s.either("API_SERVER_KEY", "platforms", "api_server", "extra", "key").orEmpty())
	g.Hosts = s.either("API_SERVER_HOSTS", "platforms", "api_server", "extra", "hosts").words()
	g.Origins = s.either("API_SERVER_ORIGINS", "platforms", "api_server", "extra", "origins").words()
	for _, origin := range g.Origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return g, fmt.Errorf("cannot use %q as an origin (API_SERVER_ORIGINS): give a scheme and a host, as in https://agent.example", origin)
		}
	}
	return g, errors.Join(
		s.either("API_SERVER_PORT", "platforms", "api_server", "extra", "port").setPort(&g.Port),
		s.either("API_SERVER_RATE", "platforms", "api_server", "extra", "rate").setPositive(&g.Rate),
		s.either("API_SERVER_CONCURRENCY", "platforms", "api_server", "extra", "concurrency").setPositive(&g.Concurrency),
	)
}

// MultiplexProfiles says whether one gateway serves all profiles (GATEWAY_MULTIPLEX_PROFILES; in the file
// gateway.multiplex_profiles, or the same at the top). It needs nothing else of the configuration: a file that cannot
// be understood leaves it to the variable, and is the error, and a value that is neither counts as no, and is one too.
func MultiplexProfiles(lookup Lookup) (bool, error) {
	home, err := Home(lookup)
	if err != nil {
		return false, err
	}
	data, err := read(File(home))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	on, wrong := multiplexProfiles(lookup, file{path: File(home), data: bytes.TrimPrefix(data, []byte(byteOrderMark))})
	return on, errors.Join(err, wrong)
}

func multiplexProfiles(lookup Lookup, f file) (bool, error) {
	sections, err := f.sections("gateway", "multiplex_profiles")
	s := doorSettings{lookup, f.path, sections}
	const variable = "GATEWAY_MULTIPLEX_PROFILES"
	found := s.either(variable, "gateway", "multiplex_profiles")
	if found.value == nil {
		found = s.either(variable, "multiplex_profiles")
	}
	if err == nil && found.odd() {
		err = found.wrong("true or false")
	}
	return found.value != nil && found.truthy(), err
}
