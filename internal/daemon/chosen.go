package daemon

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// place is where an engine may be.
type place struct {
	kind Kind   // what is usual there; empty where either may be
	must Kind   // what has to be there; empty for either
	host string // as in Endpoint
	from string
	tls  *tls.Config
	// start is the command that starts what is usual there; empty where nobody knows.
	start string
}

// binary names the program that the reference ran. Here it only says which of the two engines is wanted.
const binary = "HERMES_DOCKER_BINARY"

// override is the kind that HERMES_DOCKER_BINARY names: a bare name, or the path of an executable file.
// Anything else is left out of account, as it always was, but not in silence.
func (s *search) override() Kind {
	value := s.env(binary)
	if value == "" {
		return ""
	}
	kind := kindOf(filepath.Base(value))
	why := "it names neither docker nor podman"
	if strings.ContainsAny(value, `/\`) {
		if info, err := os.Stat(value); err != nil || !info.Mode().IsRegular() || s.goos != "windows" && info.Mode()&0o111 == 0 {
			kind, why = "", "there is no such executable file"
		}
	}
	if kind == "" {
		s.Warn(fmt.Sprintf("%s=%s is ignored: %s", binary, value, why))
	}
	return kind
}

func kindOf(program string) Kind {
	switch strings.TrimSuffix(strings.ToLower(program), ".exe") {
	case "docker":
		return Docker
	case "podman", "podman-remote":
		return Podman
	}
	return ""
}

// chosen is the place that somebody chose, or nil. Podman's own variable counts first where Podman is
// wanted and not at all where Docker is; contexts are Docker's.
func (s *search) chosen() (*place, error) {
	switch s.Kind {
	case Podman:
		return firstOf(s.containerHost, s.dockerHost)
	case Docker:
		return firstOf(s.dockerHost, s.context)
	}
	return firstOf(s.dockerHost, s.containerHost, s.context)
}

func firstOf(choices ...func() (*place, error)) (*place, error) {
	for _, choice := range choices {
		if p, err := choice(); p != nil || err != nil {
			return p, err
		}
	}
	return nil, nil
}

func (s *search) dockerHost() (*place, error) {
	const name = "DOCKER_HOST"
	address := s.env(name)
	if address == "" {
		return nil, nil
	}
	var secured *tls.Config
	if scheme, _ := split(address); scheme == "tcp" {
		var err error
		if secured, err = s.variablesTLS(); err != nil {
			return nil, err
		}
	}
	return s.at(address, name, secured)
}

func (s *search) containerHost() (*place, error) {
	const name = "CONTAINER_HOST"
	if s.env(name) == "" {
		return nil, nil
	}
	p, err := s.at(s.env(name), name, nil)
	if err == nil {
		p.kind, p.must = Podman, Podman
	}
	return p, err
}

// at is the place of an address that somebody gave.
func (s *search) at(address, from string, secured *tls.Config) (*place, error) {
	host, err := s.parse(address, from, secured != nil)
	if err != nil {
		return nil, err
	}
	p := &place{kind: s.Kind, must: s.Kind, host: host, from: from}
	if strings.HasPrefix(host, "tcp:") {
		p.tls = secured
	}
	for _, u := range s.usual() {
		if u.host == host {
			p.start = u.start
		}
	}
	return p, nil
}

// unusable is the error for a choice that cannot be used, whatever answers.
func (s *search) unusable(from, fix, format string, args ...any) *Error {
	return &Error{Reason: Unusable, Kind: s.Kind, From: from, what: "use " + from, Why: oneLine(fmt.Sprintf(format, args...)), Fix: fix}
}
