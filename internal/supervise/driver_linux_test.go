package supervise_test

import (
	"testing"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/drivertest"
)

var _ roster.Driver = (*supervise.Supervisor)(nil)

func TestBuiltIn(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) drivertest.Fixture {
		s, user, dir, output := supervise.ForSuite(t)
		return drivertest.Fixture{Driver: s, User: user, Dir: dir, Output: output}
	})
}
