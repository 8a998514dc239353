// Package dashboard is the web page of a home: it puts the door (access) before what pages show and do (house) and the
// pages themselves (web), and listens.
//
// The command line runs it, by hand or as a service, and opens what is behind the door. It must know nothing of
// sandboxes and services itself.
package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/dashboard/access"
	"hermes.example/hermes/internal/dashboard/doorbell"
	"hermes.example/hermes/internal/gate"
)

// Options are what a dashboard works with.
type Options struct {
	Settings config.Dashboard
	Log      *slog.Logger
	// House answers all under /api that is not the door's; nil means that there is nothing.
	House http.Handler
	// Drain tells those who follow something in the house that it ends, and waits for that until its context is over; nil
	// means that nobody does.
	Drain func(context.Context)
	// Pages answers everything else; nil means a line of text.
	Pages http.Handler
	// Bell is where an address that logs in can be had while the dashboard runs; nil means nowhere.
	Bell *doorbell.Bell
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Dashboard is the whole. Its life: New decides who may come in, Serve listens until its context ends.
type Dashboard struct {
	settings config.Dashboard
	log      *slog.Logger
	door     *access.Access
	bell     *doorbell.Bell
	inner    http.Handler
	drain    func(context.Context)
	most     int // connections
}

// New makes a dashboard, or refuses with an *access.RefusedError.
func New(o Options) (*Dashboard, error) {
	door, err := access.New(access.Options{Settings: o.Settings, Log: o.Log, Now: o.Now})
	if err != nil {
		return nil, err
	}
	if o.House == nil {
		o.House = http.NotFoundHandler()
	}
	if o.Pages == nil {
		o.Pages = lineOfText(door)
	}
	if o.Drain == nil {
		o.Drain = func(context.Context) {}
	}
	return &Dashboard{o.Settings, o.Log, door, o.Bell, trusting(inner(o.House, o.Pages)), o.Drain, mostConnections}, nil
}

// inner is what is behind the door. A path that is not written as it is called is none here: a mux would lead to the other
// form, and a POST to a second one.
func inner(house, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/api" || strings.HasPrefix(p, "/api/"):
			house.ServeHTTP(w, r)
		case !plain(r.URL.EscapedPath()):
			http.NotFound(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// plain says that a path is written as it is called, perhaps with a slash at its end as some people have it.
func plain(written string) bool {
	return written == "/" || written != "//" && path.Clean(written) == strings.TrimSuffix(written, "/")
}

// trusting keeps the connections on which somebody who is in asks for something.
func trusting(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if access.UserOf(r) != "" {
			gate.Trust(r)
		}
		inner.ServeHTTP(w, r)
	})
}

// lineOfText stands where there are no pages.
func lineOfText(door *access.Access) http.Handler {
	mux := http.NewServeMux()
	say := func(path string, line func(*http.Request) string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, "Hermes.", line(r))
		})
	}
	say("/login", func(*http.Request) string { return door.HowToLogIn() })
	say("/{$}", func(r *http.Request) string {
		return "You are logged in as " + access.UserOf(r) + ". There are no pages here; /api/status says how things are."
	})
	return mux
}

// Handler is the whole dashboard, behind its door.
func (d *Dashboard) Handler() http.Handler { return d.door.Guard(d.inner) }

// announce says in the log, for who looks there, how to come in. An address that logs in by itself is not for logs.
func (d *Dashboard) announce(open string) {
	if user := d.door.User(); user != "" {
		d.log.Info("the dashboard is there", "open", open, "login", user)
	}
	if d.settings.InImage && config.IsLoopback(d.settings.Host) {
		d.log.Warn("no published port leads to the dashboard, which listens inside this container only: set HERMES_DASHBOARD_HOST=0.0.0.0", "listens", d.settings.Host)
	}
}
