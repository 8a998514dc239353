package house

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hermes.example/hermes/internal/gateway/api"
)

// Room is a profile whose sandboxes and add-ons somebody works with. What it opens stays open until it is closed.
type Room interface {
	Sandboxes() (api.Sandboxes, error)
	Addons() (api.Addons, error)
	Close()
}

// errEnding is for who comes when the house ends.
var errEnding = errors.New("the dashboard is ending: ask again in a moment")

// unusedAfter is when a room that nobody used is given up.
const unusedAfter = time.Minute

// rooms are the profiles that somebody works with, each with the API of its gateway. A room is opened by the first
// request for it and given up when nobody has used it for a while and it holds no sandbox.
type rooms struct {
	open    func(profile string) Room
	gateway func(profile string) api.Gateway
	log     *slog.Logger

	mu     sync.Mutex
	all    map[string]*room
	ending bool
}

type room struct {
	Room
	api *api.API

	// All below are guarded by the lock of the rooms.
	users int
	used  time.Time
	boxes api.Sandboxes // once they are open
}

// enter returns a profile's room, which is left by the returned function.
func (r *rooms) enter(name string) (_ *room, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending {
		return nil, nil, errEnding
	}
	here := r.all[name]
	if here == nil {
		here = &room{Room: r.open(name)}
		here.api = api.New(api.Options{Gateway: r.gateway(name), Log: r.log, Addons: here.Addons, Open: func() (api.Sandboxes, error) {
			boxes, err := here.Sandboxes()
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			here.boxes = boxes
			return boxes, nil
		}})
		r.all[name] = here
	}
	here.users++
	return here, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		here.users--
		here.used = time.Now()
	}, nil
}

// sweep gives up rooms that nobody uses.
func (r *rooms) sweep(now time.Time) {
	r.mu.Lock()
	var unused []*room
	for name, here := range r.all {
		if here.users == 0 && now.Sub(here.used) >= unusedAfter && (here.boxes == nil || here.boxes.Held() == 0) {
			delete(r.all, name)
			unused = append(unused, here)
		}
	}
	r.mu.Unlock()
	for _, here := range unused {
		here.end(context.Background())
	}
}

// end gives up a room that nobody enters any more.
func (h *room) end(ctx context.Context) {
	h.api.Drain(ctx)
	h.Close()
}

// drain tells those who follow something in any room.
func (r *rooms) drain(ctx context.Context) {
	var telling sync.WaitGroup
	for _, here := range r.last() {
		telling.Go(func() { here.api.Drain(ctx) })
	}
	telling.Wait()
}

// last lets nobody in any more, and returns all rooms.
func (r *rooms) last() (all []*room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	for _, here := range r.all {
		all = append(all, here)
	}
	return all
}

// close gives up all rooms, without waiting for anybody.
func (r *rooms) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, here := range r.last() {
		here.end(ctx)
	}
}
