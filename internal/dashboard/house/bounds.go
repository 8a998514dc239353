package house

import (
	"errors"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gate"
)

const (
	// mostReaders are how many logs are read at a time. Each takes a connection to the supervisor, which has only so many:
	// whoever else asks it needs some too.
	mostReaders = 100
	// mostWatchers are how many follow the overview: fewer than there are places, so that something can still be asked.
	mostWatchers = 512
)

var (
	errTooManyReaders  = errors.New("cannot show the log: too many are followed at once; close some pages")
	errTooManyWatchers = errors.New("cannot follow the overview: too many pages do so at once; close some")
	errTooOften        = errors.New("cannot answer: too many requests a second; ask again in a moment")
	errFull            = errors.New("cannot answer: too many requests at a time; close some pages, or ask again when some have ended")
)

// bounds are how much a house answers: as much as a gateway does unless somebody sets something else, for all sessions
// together. A page that runs wild must not use up the files and processes that sandboxes need.
type bounds struct {
	rate     *gate.Rate[struct{}]
	places   gate.Places // for all requests
	readers  gate.Places // of logs
	watchers gate.Places // of the overview
}

func newBounds() bounds {
	return bounds{
		rate: gate.NewSharedRate(config.DefaultGatewayRate), places: gate.NewPlaces(config.DefaultGatewayConcurrency),
		readers: gate.NewPlaces(mostReaders), watchers: gate.NewPlaces(mostWatchers),
	}
}

// enter lets a request in, which leaves then, or says why not.
func (b *bounds) enter() error {
	if b.rate.Take(struct{}{}) > 0 {
		return errTooOften
	}
	if !b.places.Take() {
		return errFull
	}
	return nil
}

func (b *bounds) leave() { b.places.Give() }
