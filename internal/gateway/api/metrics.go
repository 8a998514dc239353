package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the gateway's figures, in a registry of their own: nothing that a library counts by itself is among them.
type Metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	running  prometheus.Gauge
	output   prometheus.Counter
}

// newMetrics makes the figures. Held is asked how many sandboxes are kept open.
func newMetrics(held func() int) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hermes_http_requests_total", Help: "Requests, by route and status; those that were refused before a route was looked for have none."}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hermes_http_request_seconds", Help: "How long requests took, by route.", Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10)}, []string{"route"}),
		running:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "hermes_execs_running", Help: "Commands that somebody follows through this gateway now."}),
		output:   prometheus.NewCounter(prometheus.CounterOpts{Name: "hermes_exec_output_bytes_total", Help: "Output of commands that went through this gateway."}),
	}
	kept := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hermes_sandboxes_held", Help: "Sandboxes that this gateway keeps open for the next request."}, func() float64 { return float64(held()) })
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, m.running, m.output, kept, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

// Observe counts a request. Route is the pattern of the mux, so that nobody can make up new ones.
func (m *Metrics) Observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
}

// Counted counts the requests to a handler.
func (m *Metrics) Counted(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		answered := &noted{ResponseWriter: w, status: http.StatusOK}
		inner.ServeHTTP(answered, r)
		m.Observe(r.Pattern, answered.status, time.Since(began))
	})
}

// noted notes the status of an answer.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap lets deadlines, flushes and WebSockets reach the connection.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (m *Metrics) serve(w http.ResponseWriter, r *http.Request) error {
	m.handler.ServeHTTP(w, r)
	return nil
}

// Metrics are the API's figures.
func (a *API) Metrics() *Metrics { return a.metrics }
