package dashboard

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// cookies is a browser's, of one site.
type cookies struct{ kept []*http.Cookie }

func (c *cookies) SetCookies(_ *url.URL, set []*http.Cookie) { c.kept = append(c.kept, set...) }
func (c *cookies) Cookies(*url.URL) []*http.Cookie           { return c.kept }

func TestServeEndsWithItsContext(t *testing.T) {
	d, err := New(Options{Settings: config.Dashboard{Host: "127.0.0.1", Basic: config.BasicAuth{TTL: time.Hour}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextWithCancel(t)
	opened := make(chan string, 1)
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(open string) { opened <- open }) }()
	open := <-opened
	jar := &cookies{}
	client := &http.Client{Jar: jar, Timeout: 10 * time.Second}
	r, err := client.Get(open)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 200 || !strings.Contains(string(text), "logged in as local") {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	if r, err := http.Get(open); err != nil || r.StatusCode != 401 {
		t.Errorf("the address works twice: %v, %v", r, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// announced is what the log says of a dashboard that listens.
func announced(t *testing.T, s config.Dashboard) string {
	t.Helper()
	var log bytes.Buffer
	d, err := New(Options{Settings: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextWithCancel(t)
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(string) { stop() }) }()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return log.String()
}

func TestTheLogHasTheAddressOrTheVariable(t *testing.T) {
	login := config.BasicAuth{Username: "me", Password: config.NewSecret("a password"), TTL: time.Hour}
	for name, c := range map[string]struct {
		settings config.Dashboard
		has, not string
	}{
		"reachable":         {config.Dashboard{Host: "0.0.0.0", InImage: true, Basic: login}, "open=http://localhost:", "HERMES_DASHBOARD_HOST"},
		"as people know it": {config.Dashboard{Host: "0.0.0.0", PublicURL: "https://hermes.example/x", Basic: login}, "open=https://hermes.example/x login=me", "a password"},
		"unreachable":       {config.Dashboard{Host: "127.0.0.1", InImage: true, Basic: login}, "set HERMES_DASHBOARD_HOST=0.0.0.0", "a password"},
		"on a host":         {config.Dashboard{Host: "127.0.0.1", Basic: login}, "open=http://127.0.0.1:", "HERMES_DASHBOARD_HOST"},
		"a ticket":          {config.Dashboard{Host: "127.0.0.1", InImage: true, Basic: config.BasicAuth{TTL: time.Hour}}, "HERMES_DASHBOARD_HOST", "token"},
	} {
		if log := announced(t, c.settings); !strings.Contains(log, c.has) || strings.Contains(log, c.not) {
			t.Errorf("%s: %s", name, log)
		}
	}
}
