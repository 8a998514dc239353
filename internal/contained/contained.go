// Package contained is what an engine of containers and the guest in one agree on:
// where the guest finds its program, its door and its spool, how it is started and
// stopped, and how it and a caller prove to each other who they are where neither
// can see the other's process.
//
// Both sides import it, so it must stay small, and it knows nothing of any engine.
package contained

import (
	"fmt"
	"strings"
)

// Where things are in a container. Nothing of an image has that name.
const (
	Root    = "/.hermes"
	Bin     = Root + "/bin" // read-only, from a volume
	Program = Bin + "/hermes-guest"
	Door    = Root + "/run" // where the guest makes its socket, if somebody outside sees it
	Socket  = "guest.sock"
	Spool   = Root + "/spool"
	Kept    = Root + "/kept" // what a container that erases is shown
)

// The first argument of the guest's program says what it is to be.
const (
	Mode       = "contained" // PID 1 of a container
	BridgeMode = "bridge"    // carries one caller's stream to the guest
	EraseMode  = "erase"     // removes what a sandbox kept, in a container of its own
)

// StopSignal asks the guest to end, all that it started with it. It is none that a
// process inside would send to PID 1 by mistake.
const StopSignal = 37

// StopSignalName is what engines call it.
const StopSignalName = "37"

// Start is what a guest must be told that it cannot read off its container: its
// directory and its environment are those it was started with.
type Start struct {
	// User is who commands run as, by the image's own names, if that is not whom the
	// guest runs as.
	User string
	// Owned are directories that belong to that user.
	Owned []string
	// Home is where who has no home in the image has one.
	Home string
	// Ephemeral ends the container with its last user.
	Ephemeral bool
	// Offline says that the container has no network.
	Offline bool
	// Build names the guest's program.
	Build string
}

// Arguments are those of the guest's program.
func (s Start) Arguments() []string {
	args := []string{Mode}
	if s.Ephemeral {
		args = append(args, "ephemeral")
	}
	if s.Offline {
		args = append(args, "offline")
	}
	if s.Build != "" {
		args = append(args, "build="+s.Build)
	}
	if s.User != "" {
		args = append(args, "user="+s.User)
	}
	if s.Home != "" {
		args = append(args, "home="+s.Home)
	}
	for _, dir := range s.Owned {
		args = append(args, "owned="+dir)
	}
	return args
}

// ParseStart reads what Arguments wrote after the mode.
func ParseStart(args []string) (s Start, err error) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "ephemeral":
			s.Ephemeral = true
		case "offline":
			s.Offline = true
		case "build":
			s.Build = value
		case "user":
			s.User = value
		case "home":
			s.Home = value
		case "owned":
			s.Owned = append(s.Owned, value)
		default:
			return s, fmt.Errorf("unknown argument %q", arg)
		}
	}
	return s, nil
}
