// Package survey looks around in a home: which profiles there are and how their gateways are, which services are kept,
// which engine makes sandboxes and which there are, which add-ons are installed.
//
// The command line tells it on one screen, the dashboard shows it on a page; what both say comes from here. It only
// looks, bounded in time by its caller, and a part that cannot be looked at says why and keeps no other from being
// told. It never starts, ends or holds anything: a sandbox that is looked at is not in use thereby.
package survey

import "errors"

// Overview is what there is in a home.
type Overview struct {
	Version string `json:"version"`
	Home    string `json:"home"`
	// Problem is of the home as a whole: its configuration, or the supervisor.
	Problem   string    `json:"problem,omitempty"`
	Engine    Engine    `json:"engine"`
	Services  []Service `json:"services"`
	Profiles  []Profile `json:"profiles"`
	Sandboxes []Box     `json:"sandboxes"`
	Addons    Addons    `json:"addons"`
}

// Profile is one agent of the home, with its gateway.
type Profile struct {
	Name string `json:"name"`
	// Gateway is absent where nobody keeps one.
	Gateway *Service `json:"gateway,omitempty"`
	// Problem is why its configuration cannot be used.
	Problem string `json:"problem,omitempty"`
}

// ErrNoSupervisor is the error of asking for services where nobody keeps any.
var ErrNoSupervisor = errors.New("cannot ask a supervisor: no supervisor runs here; start all of this home with \"hermes up\", a container with Hermes' own entrypoint, or \"hermes gateway run\" in the foreground")
