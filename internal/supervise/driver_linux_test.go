package supervise_test

import (
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
)

var _ roster.Driver = (*supervise.Supervisor)(nil)
