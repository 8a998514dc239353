package house

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"hermes.example/hermes/internal/survey"
)

// crowd is who watches the overview. While there is anybody one goroutine for each part looks, and what has changed is
// encoded once for all: another page costs what it takes to send to it.
type crowd struct {
	life  context.Context
	sight *sight

	mu      sync.Mutex
	members int
	leave   chan struct{} // closed when the last has gone
	newest  *frame
	lookers sync.WaitGroup
}

// frame is an overview as it is sent. Next is closed when there is a newer one.
type frame struct {
	text []byte
	next chan struct{}
	// fixed is the overview without what changes by the passing of time alone.
	fixed []byte
	at    time.Time
}

// agedAfter is how old a frame becomes at most when only times in it have changed: pages tell times themselves.
const agedAfter = 10 * time.Second

// join makes one more watch, until the returned function is called.
func (c *crowd) join() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members++; c.members == 1 {
		c.leave = make(chan struct{})
		c.watch(servicesEvery, func() { c.sight.services.fresh() })
		c.watch(sandboxesEvery, func() { c.sight.sandboxes.fresh() })
		c.watch(addonsEvery, func() { c.sight.addons.fresh() })
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.members--; c.members == 0 {
			close(c.leave)
			c.newest = nil // what comes next is not compared with what was long ago
		}
	})
}

// watch looks again and again, and publishes what was seen. It is called with the lock held.
func (c *crowd) watch(every time.Duration, look func()) {
	gone := c.leave
	c.lookers.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-gone:
				return
			case <-c.life.Done():
				return
			case <-ticker.C:
			}
			look()
			c.publish(c.sight.seen())
		}
	})
}

// wait returns when nobody looks any more.
func (c *crowd) wait() { c.lookers.Wait() }

// current is the newest frame. The first who comes waits for one.
func (c *crowd) current() (*frame, error) {
	c.mu.Lock()
	newest := c.newest
	c.mu.Unlock()
	if newest != nil {
		return newest, nil
	}
	return c.publish(c.sight.now())
}

// publish makes an overview the newest, if it says something new, and returns the newest.
func (c *crowd) publish(o survey.Overview) (*frame, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	fixed, err := json.Marshal(fixedOf(o))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.newest != nil && bytes.Equal(fixed, c.newest.fixed) && now.Sub(c.newest.at) < agedAfter {
		return c.newest, nil
	}
	f := &frame{text: event("overview", data), next: make(chan struct{}), fixed: fixed, at: now}
	if c.newest != nil {
		close(c.newest.next)
	}
	if c.members > 0 { // or it would be old when somebody comes
		c.newest = f
	}
	return f, nil
}

// fixedOf is an overview without what changes by the passing of time alone.
func fixedOf(o survey.Overview) survey.Overview {
	services := make([]survey.Service, len(o.Services))
	for i, s := range o.Services {
		s.Text = ""
		services[i] = s
	}
	boxes := make([]survey.Box, len(o.Sandboxes))
	for i, b := range o.Sandboxes {
		b.Idle = nil
		boxes[i] = b
	}
	profiles := make([]survey.Profile, len(o.Profiles))
	for i, p := range o.Profiles {
		p.Gateway = nil // it is among the services
		profiles[i] = p
	}
	o.Services, o.Sandboxes, o.Profiles = services, boxes, profiles
	return o
}
