package backend

import "time"

// State is one backend of a pool.
type State struct {
	Feature string    `json:"feature"`
	Started time.Time `json:"started"`
}
