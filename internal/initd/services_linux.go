package initd

import (
	"context"

	"hermes.example/hermes/internal/boot"
)

type services struct{}

func startServices(c *container, result *boot.Result) (*services, error) { return &services{}, nil }
func (s *services) stop(ctx context.Context)                              {}
func (s *services) close()                                                {}
