package client

import "time"

// Health is whether a gateway is well, which everybody may know.
type Health struct {
	Status string `json:"status" jsonschema:"ok, or where in its life the gateway is"`
}

// GatewayStatus is how a profile's gateway is.
type GatewayStatus struct {
	Profile string    `json:"profile"`
	State   string    `json:"state" jsonschema:"starting, running or draining; through a dashboard also stopped, or unknown where nobody keeps the gateway"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
}

// Restarting is the answer to a request to be started again.
type Restarting struct {
	Status string `json:"status"`
}
