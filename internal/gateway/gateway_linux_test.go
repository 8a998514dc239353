package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
)

const key = "0123456789abcdef"

// running is a gateway in this process.
type running struct {
	t       *testing.T
	dir     string
	url     string
	restart chan struct{}
	ready   chan string
	stop    context.CancelFunc
	ended   chan struct{}
	err     error // once it has ended
}

func (r *running) run(do func() error) {
	go func() {
		r.err = do()
		close(r.ended)
	}()
	r.await()
}

// addresses hands on where a gateway listens, which it says in its log.
type addresses struct {
	slog.Handler
	to chan string
}

func (h addresses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "address" {
			h.to <- a.Value.String()
		}
		return true
	})
	return nil
}

func (h addresses) Enabled(context.Context, slog.Level) bool { return true }

// options are those of a profile in a home of its own.
func options(t *testing.T) (Options, *running) {
	home := t.TempDir()
	r := &running{t: t, dir: home, ready: make(chan string, 1), restart: make(chan struct{}), ended: make(chan struct{})}
	return Options{
		Profile: profile.Default, Dir: home, Settings: config.Gateway{Host: "127.0.0.1", Key: config.NewSecret(key)},
		Records: &profile.Home{Root: home}, Restart: r.restart, Log: slog.New(addresses{slog.DiscardHandler, r.ready}),
	}, r
}

// start runs a gateway until the test ends.
func start(t *testing.T, change func(*Options)) *running {
	t.Helper()
	o, r := options(t)
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	t.Cleanup(func() { stop(); r.end() })
	r.run(func() error { return Run(ctx, o) })
	return r
}

func (r *running) await() {
	r.t.Helper()
	select {
	case address := <-r.ready:
		r.url = "http://" + address
	case <-r.ended:
		r.t.Fatalf("it ended: %v", r.err)
	case <-time.After(20 * time.Second):
		r.t.Fatal("it does not listen")
	}
}

func (r *running) end() error {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(20 * time.Second):
		r.t.Fatal("it does not end")
	}
	return r.err
}

func (r *running) ask(method, path, authorization string) (int, map[string]any) {
	r.t.Helper()
	request, _ := http.NewRequest(method, r.url+path, nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	var body map[string]any
	json.Unmarshal(text, &body)
	return response.StatusCode, body
}

// written is what the state file says.
func (r *running) written() map[string]any {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, profile.StateFile))
	if err != nil {
		r.t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(content, &state); err != nil {
		r.t.Fatal(err)
	}
	return state
}

func TestOnlyTheKeyOpens(t *testing.T) {
	r := start(t, nil)
	if status, body := r.ask("GET", "/health", ""); status != 200 || body["status"] != "ok" || len(body) != 1 {
		t.Errorf("health: %d %v", status, body)
	}
	for _, wrong := range []string{"", "Bearer", "Bearer ", key, "Basic " + key, "Bearer " + key + "0", "Bearer " + key[1:], "Bearer " + strings.ToUpper(key)} {
		for path, method := range map[string]string{"/v1/status": "GET", "/v1/restart": "POST", "/elsewhere": "GET"} {
			if status, body := r.ask(method, path, wrong); status != 401 || body["profile"] != nil {
				t.Errorf("%q opens %s: %d %v", wrong, path, status, body)
			}
		}
	}
	status, body := r.ask("GET", "/v1/status", "bearer "+key)
	if status != 200 || body["profile"] != "default" || body["state"] != "running" || body["pid"] != float64(os.Getpid()) {
		t.Errorf("status: %d %v", status, body)
	}
}

// The server answers nothing by itself that the gate has not seen.
func TestNothingIsAnsweredBeforeTheGate(t *testing.T) {
	r := start(t, nil)
	for request, want := range map[string]string{
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n":                               "401",
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n":                            "421",
		"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n":          "421",
		"GET /health HTTP/1.0\r\n":                                                "200", // which is no browser
		"GET /v1/status HTTP/1.0\r\nAuthorization: Bearer " + key + "\r\n":        "421",
		"GET /health HTTP/1.0\r\nHost: evil.example\r\n":                          "421",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n":       "400",
		"GET /health HTTP/1.1\r\nHost: localhost.\r\n":                            "421",
		"GET /health HTTP/1.1\r\nHost: LOCALHOST:1\r\n":                           "200",
		"GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n":             "403",
		"GET /v1/../health HTTP/1.1\r\nHost: localhost\r\n":                       "401",
		"GET /v1/status?access_token=" + key + " HTTP/1.1\r\nHost: localhost\r\n": "401",
		"PRI * HTTP/2.0\r\n": "421",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(conn, request+"\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if _, status, _ := strings.Cut(line, " "); err != nil || !strings.HasPrefix(status, want) {
			t.Errorf("%q: %q, %v; want %s", request, line, err, want)
		}
		conn.Close()
	}
}

func TestWithoutAKeyNothingOpens(t *testing.T) {
	r := start(t, func(o *Options) { o.Settings.Key = config.Secret{} })
	for _, authorization := range []string{"", "Bearer ", "Bearer x"} {
		if status, body := r.ask("GET", "/v1/status", authorization); status != 401 || !strings.Contains(body["detail"].(string), "API_SERVER_KEY") {
			t.Errorf("%q: %d %v", authorization, status, body)
		}
	}
	if status, _ := r.ask("GET", "/health", ""); status != 200 {
		t.Errorf("health: %d", status)
	}
}

func TestOthersNeedALongKey(t *testing.T) {
	for name, test := range map[string]struct {
		host, key string
		refused   bool
	}{
		"no key":                 {"0.0.0.0", "", true},
		"a short one":            {"0.0.0.0", key[1:], true},
		"one of IPv6":            {"::", "", true},
		"a name":                 {"gateway.example", key[1:], true},
		"a long one":             {"0.0.0.0", key, false},
		"no key on loopback":     {"127.0.0.2", "", false},
		"no key on loopback, v6": {"::1", "", false},
		"a mapped address":       {"::ffff:127.0.0.1", "", false},
	} {
		err := check(Options{Settings: config.Gateway{Host: test.host, Key: config.NewSecret(test.key)}})
		if bad := (*ConfigError)(nil); errors.As(err, &bad) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	o, r := options(t)
	o.Settings = config.Gateway{Host: "0.0.0.0"}
	if bad := (*ConfigError)(nil); !errors.As(Run(t.Context(), o), &bad) {
		t.Error("it ran")
	}
	if state := r.written(); state["gateway_state"] != "startup_failed" {
		t.Errorf("written: %v", state)
	}
}

func TestWhatIsWrittenDownAndWhen(t *testing.T) {
	for name, test := range map[string]struct {
		supervised, planned bool
		state               string
		restart             bool
	}{
		"its owner's stop":               {true, true, "stopped", false},
		"its owner's stop, by hand":      {false, true, "stopped", false},
		"the end of its container":       {true, false, "running", true},
		"the end of its shell":           {false, false, "running", false},
		"a stop for somebody before it":  {true, false, "running", true},
		"its owner's, but long time ago": {true, false, "running", true},
	} {
		var home *profile.Home
		r := start(t, func(o *Options) {
			o.Supervised = test.supervised
			home = o.Records.(*profile.Home)
			if err := home.Record(profile.Default, map[string]any{"desired_state": "running", "mine": 1}); err != nil {
				t.Fatal(err)
			}
		})
		if state := r.written(); state["gateway_state"] != "running" || state["pid"] != float64(os.Getpid()) {
			t.Errorf("%s: while it runs: %v", name, state)
		}
		stopper := *home
		pid := os.Getpid()
		switch {
		case strings.Contains(name, "before it"):
			pid--
		case strings.Contains(name, "long time"):
			stopper.Now = func() time.Time { return time.Now().Add(-2 * time.Minute) }
		}
		if test.planned || pid != os.Getpid() || stopper.Now != nil {
			if err := stopper.PlanStop(profile.Default, pid); err != nil {
				t.Fatal(err)
			}
		}
		r.stop()
		if err := r.end(); errors.Is(err, ErrRestart) != test.restart || !test.restart && err != nil {
			t.Errorf("%s: ended with %v", name, err)
		}
		state := r.written()
		if state["gateway_state"] != test.state || state["desired_state"] != "running" || state["mine"] != float64(1) {
			t.Errorf("%s: afterwards: %v", name, state)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "gateway.pid")); !os.IsNotExist(err) {
			t.Errorf("%s: gateway.pid is left: %v", name, err)
		}
	}
}

func TestRestartIsAskedForInTwoWays(t *testing.T) {
	for name, ask := range map[string]func(*running){
		"by request": func(r *running) {
			if status, _ := r.ask("POST", "/v1/restart", "Bearer "+key); status != 202 {
				r.t.Errorf("status %d", status)
			}
		},
		"by signal": func(r *running) { r.restart <- struct{}{} },
	} {
		r := start(t, nil)
		ask(r)
		if err := r.end(); !errors.Is(err, ErrRestart) {
			t.Errorf("%s: %v", name, err)
		}
		if state := r.written(); state["gateway_state"] != "running" {
			t.Errorf("%s: written: %v", name, state)
		}
	}
}

func TestAPortThatIsTakenIsAFailedStart(t *testing.T) {
	first := start(t, nil)
	o, r := options(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(first.url, "http://"), ":")
	json.Unmarshal([]byte(port), &o.Settings.Port)
	err := Run(t.Context(), o)
	if bad := (*ConfigError)(nil); err == nil || errors.As(err, &bad) || !strings.Contains(err.Error(), "API_SERVER_PORT") {
		t.Errorf("got %v", err)
	}
	if state := r.written(); state["gateway_state"] != "startup_failed" {
		t.Errorf("written: %v", state)
	}
}

func TestNothingIsWrittenWithoutRecords(t *testing.T) {
	r := start(t, func(o *Options) { o.Records = nil })
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, profile.StateFile)); !os.IsNotExist(err) {
		t.Errorf("a state was written: %v", err)
	}
}

// A request that was begun is answered, and whoever comes later is not let in.
func TestDrainingFinishesWhatWasBegun(t *testing.T) {
	o, r := options(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	g := newGateway(o)
	g.handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/" {
			return // it came before the door was closed
		}
		close(begun)
		<-goOn
		io.WriteString(w, "done")
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r.run(func() error { return g.live(ctx) })
	var answer string
	var wg sync.WaitGroup
	wg.Go(func() {
		if response, err := http.Get(r.url); err == nil {
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			answer = string(text)
		}
	})
	<-begun
	stop()
	for refused := false; !refused; {
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(r.url + "/late")
		if refused = errors.Is(err, syscall.ECONNREFUSED); err == nil {
			response.Body.Close()
		}
	}
	if state := r.written(); state["gateway_state"] != "draining" {
		t.Errorf("meanwhile: %v", state)
	}
	close(goOn)
	wg.Wait()
	if err := r.end(); err != nil || answer != "done" {
		t.Errorf("answer %q, %v", answer, err)
	}
}

func TestDrainingIsBounded(t *testing.T) {
	o, r := options(t)
	begun := make(chan struct{})
	g := newGateway(o)
	g.handler = http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		close(begun)
		<-q.Context().Done()
	})
	ctx, stop := context.WithCancel(t.Context())
	r.run(func() error { return g.live(ctx) })
	cut := make(chan error, 1)
	go func() {
		_, err := http.Get(r.url)
		cut <- err
	}()
	<-begun
	stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}
