package docker

import (
	"errors"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/proc"
)

// describe fills in which process the guest is.
func (s *sighting) describe() (err error) {
	guest, ok := proc.Read(s.PID)
	if s.Boot = proc.BootID(); !ok || s.Boot == "" {
		return errors.New("the kernel does not tell us which process its guest is")
	}
	s.Started = guest.Started
	s.Freezer, err = cgroup.FreezerOf(s.PID)
	return err
}

// lives says whether the guest is still there and nobody has paused it. What cannot be
// told is not so.
func (s *sighting) lives() bool {
	guest, ok := proc.Read(s.PID)
	if !ok || guest.Zombie || guest.Started != s.Started || proc.BootID() != s.Boot {
		return false
	}
	frozen, err := cgroup.IsFrozen(s.Freezer)
	return err == nil && !frozen
}
