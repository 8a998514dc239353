package browser

import (
	"io"
	"testing"
	"time"
)

// A log that cannot be shown now says why, and is shown as soon as it can be.
func TestThePageSaysWhyThereIsNoLog(t *testing.T) {
	h := newHouse(t)
	reader := h.reader()
	var others []io.Closer
	for range 100 { // which is as many as there may be
		others = append(others, reader.follow("/api/services/dashboard/log?follow=1"))
	}
	p := h.visit("/services/gateway-default")
	p.expects("status of 429")
	p.sees("too many are followed at once")
	p.sees("It is tried again.")
	for _, o := range others {
		o.Close()
	}
	p.within(time.Minute, "the log is there", func() bool { return p.shows("listening") && !p.shows("followed at once") && !p.shows("It is tried again") })
	h.says("gateway-default", "and goes on")
	p.sees("and goes on")
}
