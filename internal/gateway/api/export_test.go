package api

import "time"

// PingEvery changes how often WebSockets are asked whether somebody is there.
func (a *API) PingEvery(d time.Duration) { a.pingEvery = d }
