// Package api is the HTTP API of a profile's gateway: one table of operations, of which both the handler and the OpenAPI
// document are made, and what answers them.
//
// The gateway serves it behind its gate, which knows the key, the names and the limits; nothing here asks who somebody
// is. It works on sandboxes and add-ons through internal/configured, as the command line does, and never on an engine
// directly. What is sent and answered is described by the types of the public package client.
//
//go:generate go run ./gen ../../../docs/openapi.json
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"sync"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

// Sandboxes is what the API needs of a profile's sandboxes. *configured.Sandboxes is it.
type Sandboxes interface {
	Manager() *sandbox.Manager
	Identity(task string) sandbox.Identity
	Obtain(ctx context.Context, task string, spec *sandbox.Spec) (*sandbox.Sandbox, error)
	Use(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error
	// Release gives up what Use keeps open of a task, unless a call uses it.
	Release(task string)
	// Held is how many tasks Use keeps something open of.
	Held() int
	KeepsFiles() bool
	Containers() bool
	// Forwarded are variables of the gateway's that each command gets.
	Forwarded() (forward.Values, error)
}

// Gateway is what serves the API, and answers for itself.
type Gateway interface {
	Status() client.GatewayStatus
	// Healthy says whether it runs, as opposed to being about to.
	Healthy() bool
	// Restart has it started again, after requests under way, or says why it cannot be.
	Restart() error
}

// Options are what an API works with.
type Options struct {
	Gateway Gateway
	// Open opens the sandboxes, for the first request that needs them. They are the caller's to close.
	Open func() (Sandboxes, error)
	// Addons opens the add-ons, in the same way.
	Addons func() (Addons, error)
	Log    *slog.Logger
}

// API answers requests. Its life: New, Handler as long as the gateway serves, Drain when that ends.
type API struct {
	Options
	Sandboxes Sandboxes
	late      *late
	addons    lateAddons

	mux      *http.ServeMux
	document []byte
	metrics  *Metrics

	pingEvery time.Duration // of WebSockets

	// draining is closed when the gateway begins to end, and life is over when nobody may go on.
	draining chan struct{}
	drain    sync.Once
	life     context.Context
	end      context.CancelFunc
	// streams are those that somebody follows, also such as the server does not count as requests any more.
	streams sync.WaitGroup
}

// New makes an API.
func New(o Options) *API {
	a := &API{Options: o, mux: http.NewServeMux(), draining: make(chan struct{}), pingEvery: pingEvery}
	a.late = &late{open: o.Open}
	a.metrics = newMetrics(a.late.Held)
	a.Sandboxes = a.late
	a.addons.open = o.Addons
	a.life, a.end = context.WithCancel(context.Background())
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	for _, o := range a.Operations() {
		a.mux.Handle(o.Method+" "+o.Path, a.serve(o))
	}
	a.document = encode(a.Operations())
	return a
}

// Operations is the table.
func (a *API) Operations() []Operation {
	var all []Operation
	for _, section := range [][]Operation{a.gatewayOperations(), a.sandboxOperations(), a.execOperations(), a.attachOperations(),
		a.fileOperations(), a.archiveOperations(), a.processOperations(), a.addonOperations()} {
		all = append(all, section...)
	}
	return all
}

// serve makes a handler of an operation: the body has its limit, and an error becomes a problem.
func (a *API) serve(o Operation) http.Handler {
	limit := o.limit()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer settle(w, r, r.Body)
		if limit >= 0 {
			if r.ContentLength > limit {
				Refuse(w, problemOf(&http.MaxBytesError{Limit: limit}))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		if err := unknownParameter(o, r); err != nil {
			Refuse(w, problemOf(err))
			return
		}
		var err error
		if o.inside() {
			err = a.entrance(r)
		}
		if err == nil {
			err = o.Handle(w, r)
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}

// entrance sees to it that there are sandboxes, and that a task can be the name of one.
func (a *API) entrance(r *http.Request) error {
	if err := a.late.ready(); err != nil {
		return err
	}
	if err := a.Sandboxes.Identity(r.PathValue("task")).Validate(); err != nil {
		return bad(err.Error())
	}
	return nil
}

// fail answers with what went wrong, if anybody is still there to hear it.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // who asked has gone
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		a.Log.Warn("a request failed", "route", r.Pattern, "error", err)
	}
	Refuse(w, p)
}

// unknownParameter refuses a query that the operation does not know: a misspelt "files=true" must not be taken for its
// opposite.
func unknownParameter(o Operation, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // what cannot be read would be left out, and a file be replaced instead of appended to
		return bad("cannot read the query: " + err.Error())
	}
next:
	for name := range values {
		for _, p := range o.Parameters {
			if p.In == inQuery && p.Name == name {
				continue next
			}
		}
		return bad("there is no parameter " + quote(name) + " here; GET /v1/openapi.json says which there are")
	}
	return nil
}

// Handler answers what has passed the gate. What is not in the table is answered as a problem too.
func (a *API) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := a.mux.Handler(r)
		if pattern == "" || !plain(r) {
			refused := &refusal{header: http.Header{}}
			handler.ServeHTTP(refused, r)
			if refused.status == http.StatusMethodNotAllowed {
				w.Header().Set("Allow", refused.header.Get("Allow"))
				Refuse(w, Problem(client.CodeWrongMethod, "this route has no "+r.Method+": use "+refused.header.Get("Allow")))
				return
			}
			Refuse(w, Problem(client.CodeNoSuchRoute, "there is no such route; GET /v1/openapi.json lists them"))
			return
		}
		a.mux.ServeHTTP(w, r)
	})
}

// plain says that a path is written as the table has it. The mux would lead any other one there, with a page for people.
func plain(r *http.Request) bool {
	written := r.URL.EscapedPath()
	return path.Clean(written) == written
}

// refusal finds out how the mux refuses a request.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(p []byte) (int, error) { return len(p), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

// errDraining is what those are told who follow something when the gateway ends.
var errDraining = Problem(client.CodeDraining, "the gateway is ending: what runs under a key goes on, and can be followed from the last event on when there is a gateway again")

func (a *API) isDraining() bool {
	select {
	case <-a.draining:
		return true
	default:
		return false
	}
}

// Drain tells those who follow something that the gateway ends, and waits until they were told and what they alone
// asked for has ended, or ctx is over. Then nobody is followed any longer.
func (a *API) Drain(ctx context.Context) {
	a.drain.Do(func() { close(a.draining) })
	told := make(chan struct{})
	go func() {
		a.streams.Wait()
		close(told)
	}()
	defer a.end()
	select {
	case <-told:
	case <-ctx.Done():
	}
}
