//go:build !linux

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
)

const notHere = "control groups exist on Linux only"

// Group is the control groups of one sandbox; on this system there are none.
type Group struct{}

// Create makes nothing here, and the verdict says so.
func Create(name string, l Limits, ownerUID, ownerGID int) (*Group, Verdict, error) {
	no := Enforcement{Reason: notHere}
	return &Group{}, Verdict{Memory: no, CPU: no, Pids: no, Kill: no}, nil
}

// Open finds nothing here.
func Open(name string) (*Group, error) {
	return nil, fmt.Errorf("cannot open cgroup %q: %s: %w", name, notHere, fs.ErrNotExist)
}

// List finds nothing here.
func List() ([]string, error) { return nil, nil }

// Start calls start without a group.
func (g *Group) Start(start func(cgroupFD int) (pid int, err error)) error {
	_, err := start(-1)
	return err
}

// AddGuest does nothing here.
func (g *Group) AddGuest(pid int) error { return nil }

// Files has no descriptors here.
func (g *Group) Files() (Handles, error) { return Handles{}, nil }

// Freeze is refused here.
func (g *Group) Freeze(frozen bool) error { return errors.New("cannot freeze commands: " + notHere) }

// Kill does nothing here.
func (g *Group) Kill() error { return nil }

// Remove does nothing here.
func (g *Group) Remove() error { return nil }
