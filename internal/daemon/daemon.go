// Package daemon knows where the Docker Engine or Podman is and how to speak to it:
// from the variables and contexts that people set for their command line tools, or
// at the usual places.
//
// The Docker engine and "hermes doctor" call it. It starts no program, needs no
// docker or podman on the PATH, and remembers nothing: after an outage the next call
// finds what answers then. What somebody chose is never replaced by something else
// that happens to answer.
package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/config"
)

// Kind is which of the two engines something is.
type Kind string

// The engines.
const (
	Docker Kind = "docker"
	Podman Kind = "podman"
)

// title is how a kind is called in a sentence; one that is not known is either.
func (k Kind) title() string {
	switch k {
	case Docker:
		return "Docker"
	case Podman:
		return "Podman"
	}
	return "Docker or Podman"
}

// Patience is how long one engine has for its first answer.
const Patience = 5 * time.Second

// Options of a search.
type Options struct {
	Lookup config.Lookup
	// Kind is the one that is wanted. Empty means what HERMES_DOCKER_BINARY says, else whichever answers.
	Kind Kind
	// Patience is for each engine that is asked; zero means the package's.
	Patience time.Duration
	// Warn is told, in one line, what of the settings is left out of account; nil does not want to know.
	Warn func(line string)
	// Root comes before the usual places and what is looked at for advice; empty but in tests.
	Root string
}

// Endpoint is an engine that answered.
type Endpoint struct {
	Kind Kind
	// Host is its address, as in DOCKER_HOST: unix://, tcp:// or npipe://.
	Host string
	// From is what led to it, for messages.
	From string
	// APIVersion is the newest that it speaks.
	APIVersion string
	// Passed are the usual places before it at which something is that could not be used.
	Passed []*Error

	agreed string // version of the API that both sides speak
	tls    *tls.Config
}

// Path is the socket's path, and empty for an engine that has none on this machine.
func (e Endpoint) Path() string { return socketPath(e.Host) }

func socketPath(host string) string {
	path, _ := strings.CutPrefix(host, "unix://")
	if path == host {
		return ""
	}
	return path
}

// Client makes a client that speaks the version of the API that was agreed on when the
// engine was found. The caller closes it.
func (e Endpoint) Client() (*client.Client, error) { return e.client(client.WithAPIVersion(e.agreed)) }

func (e Endpoint) client(more ...client.Opt) (*client.Client, error) {
	var opts []client.Opt
	if e.tls != nil {
		transport := &http.Transport{TLSClientConfig: e.tls.Clone()}
		opts = append(opts, client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}))
	}
	c, err := client.New(append(append(opts, client.WithHost(e.Host)), more...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for %s: %w", e.Host, err)
	}
	return c, nil
}

// search is one Find.
type search struct {
	Options
	goos string
	uid  int
}

func newSearch(o Options) *search {
	o.Patience = cmp.Or(o.Patience, Patience)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &search{Options: o, goos: runtime.GOOS, uid: os.Getuid()}
	if s.Kind == "" {
		s.Kind = s.override()
	}
	return s
}

// Find finds the engine: the one that was chosen, or, where nobody chose, the first of the usual places
// that answers. Its error is an *Error, unless ctx was cancelled.
func Find(ctx context.Context, o Options) (Endpoint, error) {
	found, err := newSearch(o).find(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Endpoint{}, ctx.Err()
	}
	return found, err
}

func (s *search) find(ctx context.Context) (Endpoint, error) {
	chosen, err := s.chosen()
	switch {
	case err != nil:
		return Endpoint{}, err
	case chosen == nil:
		return s.first(ctx, s.usual())
	}
	found, failed := s.ask(ctx, *chosen)
	if failed != nil {
		return Endpoint{}, failed
	}
	return found, nil
}

// Expect says which engine Find would ask first, and asks nothing; ok is false where that
// is not clear. Only engines with a socket on this machine are told.
func Expect(o Options) (kind Kind, host string, ok bool) {
	o.Warn = func(string) {} // Find says it
	s := newSearch(o)
	p, err := s.chosen()
	if err != nil {
		return "", "", false
	}
	if p == nil {
		places := s.usual()
		i := slices.IndexFunc(places, func(p place) bool { _, err := os.Lstat(socketPath(p.host)); return err == nil })
		if i < 0 {
			return "", "", false
		}
		p = &places[i]
	}
	// What was chosen may be either; most who do not say mean Docker.
	return cmp.Or(p.kind, Docker), p.host, socketPath(p.host) != ""
}

// first asks one place after the other.
func (s *search) first(ctx context.Context, places []place) (Endpoint, error) {
	var passed []*Error
	for _, p := range places {
		found, failed := s.ask(ctx, p)
		if failed == nil {
			found.Passed = passed
			return found, nil
		}
		if failed.Reason != NotFound {
			passed = append(passed, failed)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(passed) == 0 {
		return Endpoint{}, s.nowhere(places)
	}
	passed[0].Others = passed[1:]
	return Endpoint{}, passed[0]
}

func (s *search) env(name string) string {
	value, _ := s.Lookup(name)
	return strings.TrimSpace(value)
}
