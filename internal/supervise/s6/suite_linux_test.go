package s6

import (
	"testing"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise/drivertest"
)

var _ roster.Driver = (*Driver)(nil)

func TestS6(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) drivertest.Fixture {
		r := newScanned(t)
		return drivertest.Fixture{Driver: r.Driver, User: r.user, Dir: r.home, Output: r.said.String}
	})
}
