// Package house is what the pages of the dashboard show and do, as JSON: an overview that comes by itself when it changes,
// services with their logs, what the home used in the last hour, and for each profile the whole API of its gateway.
//
// The dashboard serves it behind its door, which knows who somebody is; nothing here asks that. The command line says
// where the home is and how its parts are opened. However many pages are open, one looks and all are told; nobody looks
// for an overview that nobody sees. A part that fails says why, and takes no other part away.
package house

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/dashboard/history"
	"hermes.example/hermes/internal/survey"
)

// Options are what a house works with.
type Options struct {
	// Home is the directory of all profiles.
	Home string
	// Services asks the supervisor; nil where there can be none.
	Services survey.Supervised
	// Profiles names the profiles that there are.
	Profiles func() ([]string, error)
	// Settings is the environment that a profile's configuration is read in.
	Settings func(profile string) (config.Lookup, error)
	// Makers are the engines that there are.
	Makers map[string]configured.Maker
	// Addons counts the add-ons of the home.
	Addons func(context.Context) survey.Addons
	// Open is called for a profile whose sandboxes or add-ons somebody works with.
	Open func(profile string) Room
	Log  *slog.Logger
}

// House answers for a home. Its life: New begins to remember what the home uses, ServeHTTP answers, Drain tells all who
// follow something that it ends, and Close gives up what was opened.
type House struct {
	Options
	mux     *http.ServeMux
	sight   *sight
	crowd   *crowd
	history history.History
	rooms   *rooms
	bounds  bounds

	// draining is closed when the end begins, and life is over when nobody may go on.
	draining chan struct{}
	drain    sync.Once
	life     context.Context
	end      context.CancelFunc
	work     sync.WaitGroup
}

// New makes a house.
func New(o Options) *House {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &House{Options: o, mux: http.NewServeMux(), bounds: newBounds(), draining: make(chan struct{})}
	h.life, h.end = context.WithCancel(context.Background())
	o.Services = h.supervised // which says where there are none
	h.sight = newSight(h.life, o)
	h.crowd = &crowd{life: h.life, sight: h.sight}
	h.rooms = &rooms{open: o.Open, gateway: h.gatewayOf, log: o.Log, all: map[string]*room{}}
	h.route()
	h.work.Go(h.remember)
	return h
}

// Patterns are all that a house answers, as http.ServeMux writes them.
func Patterns() []string { return slices.Sorted(maps.Keys((&House{}).answers())) }

func (h *House) answers() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/overview":                h.overview,
		"GET /api/events":                  h.events,
		"GET /api/services":                h.services,
		"POST /api/services/{name}/{verb}": h.change,
		"GET /api/services/{name}/log":     h.log,
		"GET /api/profiles":                h.profiles,
		"GET /api/sandboxes":               h.sandboxes,
		"GET /api/history":                 h.lastHour,
		"/api/profiles/{profile}/":         h.enter,
		"/api/profiles/{profile}":          nowhere, // or the mux would lead from here to the one above
		"/":                                nowhere,
	}
}

func (h *House) route() {
	for pattern, serve := range h.answers() {
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil && r.Context().Err() == nil {
				refuse(w, err)
			}
		})
	}
}

// ServeHTTP answers what has passed the door, and not more of it than it can.
func (h *House) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.bounds.enter(); err != nil {
		refuse(w, err)
		return
	}
	defer h.bounds.leave()
	if written := r.URL.EscapedPath(); path.Clean(written) != written { // the mux would lead to another path, with a page for people
		refuse(w, errNowhere)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// Drain tells those who follow something that the house ends, and waits until they were told, or ctx is over.
func (h *House) Drain(ctx context.Context) {
	h.drain.Do(func() { close(h.draining) })
	h.rooms.drain(ctx)
}

// Close gives up all that was opened. Nobody may ask any more.
func (h *House) Close() {
	h.end()
	h.work.Wait()
	h.rooms.close()
	h.crowd.wait()
	h.sight.close()
}

// remember samples what the home uses, and gives up rooms that nobody uses.
func (h *House) remember() {
	var meter history.Meter
	for {
		h.history.Add(time.Now(), h.sample(&meter))
		next := time.NewTimer(history.Next(time.Now()))
		select {
		case <-h.life.Done():
			next.Stop()
			return
		case <-next.C:
			h.rooms.sweep(time.Now())
		}
	}
}
