//go:build !linux

package docker

import "errors"

func (s *sighting) describe() error {
	return errors.New("the daemon's processes are not this machine's")
}

func (s *sighting) lives() bool { return false }
