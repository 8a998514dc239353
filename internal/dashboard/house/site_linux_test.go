package house

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/survey"
)

// bound is how long anything may take before it is taken for hung.
const bound = 30 * time.Second

// site is a house that is served, with native sandboxes in a home of its own.
type site struct {
	t      *testing.T
	house  *House
	server *httptest.Server
	home   string
	vars   map[string]string
}

// newSite serves a house until the test ends; with variables of its own, and changed by change, which may be nil.
func newSite(t *testing.T, vars map[string]string, change func(*site, *Options)) *site {
	t.Helper()
	base, err := os.MkdirTemp("", "house-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, home: filepath.Join(base, "home"), vars: map[string]string{"HOME": base, "TERMINAL_ENV": "native"}}
	for _, dir := range []string{s.home, filepath.Join(base, "run")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // services are somebody else
		for _, dir := range []string{base, s.home} {
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(base, "run"))
	for name, value := range vars {
		s.vars[name] = value
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	o := Options{Home: s.home, Makers: configured.Makers(), Settings: s.settings,
		Profiles: func() ([]string, error) {
			names, _, err := (&profile.Home{Root: s.home}).List()
			return append([]string{profile.Default}, names...), err
		},
		Addons: func(context.Context) survey.Addons { return survey.Addons{Installed: []string{"one"}, Features: 3} },
		Open:   func(name string) Room { return &testRoom{site: s, name: name} },
	}
	if change != nil {
		change(s, &o)
	}
	s.house = New(o)
	s.server = httptest.NewServer(s.house)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		s.house.Drain(ctx)
		s.server.CloseClientConnections()
		s.server.Close()
		s.house.Close()
		s.prune()
	})
	return s
}

// prune ends all sandboxes of the home.
func (s *site) prune() {
	s.vars["TERMINAL_ENV"] = "native"
	lookup, _ := s.settings(profile.Default)
	boxes, err := configured.OpenSandboxes(configured.Options{Lookup: lookup, Home: s.home})
	if err != nil {
		return
	}
	defer boxes.Close()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if _, err := boxes.Manager().Prune(ctx, s.home, true); err != nil {
		s.t.Error(err)
	}
}

func (s *site) settings(name string) (config.Lookup, error) {
	lookup, _, err := config.WithEnvFile(func(variable string) (string, bool) {
		if variable == "HERMES_HOME" {
			return profile.Dir(s.home, name), true
		}
		value, ok := s.vars[variable]
		return value, ok
	})
	return lookup, err
}

// testRoom is a profile of the site, opened as the command line does.
type testRoom struct {
	site  *site
	name  string
	boxes *configured.Sandboxes
}

func (r *testRoom) Sandboxes() (api.Sandboxes, error) {
	lookup, err := r.site.settings(r.name)
	if err != nil {
		return nil, err
	}
	r.boxes, err = configured.OpenSandboxes(configured.Options{Lookup: lookup, Home: r.site.home, Profile: r.name, Serves: true})
	return r.boxes, err
}

func (r *testRoom) Addons() (api.Addons, error) {
	lookup, err := r.site.settings(r.name)
	if err != nil {
		return nil, err
	}
	return configured.OpenAddons(configured.AddonOptions{Lookup: lookup, Dir: profile.Dir(r.site.home, r.name),
		Addons: addon.Options{Lookup: lookup, Environ: os.Environ()}})
}

func (r *testRoom) Close() {
	if r.boxes != nil {
		if err := r.boxes.Close(); err != nil {
			r.site.t.Error(err)
		}
	}
}

// withSupervisor gives the house a supervisor.
func withSupervisor(s *site, o *Options) { o.Services = supervised(s.t, s.home) }

// addProfile makes a profile with a configuration.
func (s *site) addProfile(name, configuration string) {
	s.t.Helper()
	dir := profile.Dir(s.home, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	for file, text := range map[string]string{profile.Mark: "", "config.yaml": configuration} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ask makes a request, and reads the answer, which must have the status.
func (s *site) ask(method, path string, status int, into any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bound)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s, %v; want %d", method, path, answer.StatusCode, text, err, status)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
}

// refused makes a request that must be refused with one line.
func (s *site) refused(method, path string, status int, saying string) {
	s.t.Helper()
	var answer struct {
		Error string `json:"error"`
	}
	if s.ask(method, path, status, &answer); answer.Error == "" || strings.Contains(answer.Error, "\n") || !strings.Contains(answer.Error, saying) {
		s.t.Errorf("%s %s is refused with %q", method, path, answer.Error)
	}
}

// service is one of the overview.
func (s *site) service(name string) survey.Service {
	s.t.Helper()
	var all []survey.Service
	s.ask("GET", "/api/services", 200, &all)
	return one(s.t, all, name)
}

func one(t *testing.T, all []survey.Service, name string) survey.Service {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no %s among %+v", name, all)
	return survey.Service{}
}

// until looks again and again, until it is so.
func (s *site) until(what string, is func() bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(bound); !is(); {
		select {
		case <-end:
			s.t.Fatalf("it does not come: %s", what)
		case <-tick.C:
		}
	}
}

// gateway speaks the API of a profile's gateway.
func (s *site) gateway(name string) *client.Client {
	s.t.Helper()
	c, err := client.New(s.server.URL+"/api/profiles/"+name, "", client.Options{Patience: 5 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// run runs a command in a sandbox of a profile, which is made, and returns what it said.
func (s *site) run(name, task, line string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bound)
	defer cancel()
	var out bytes.Buffer
	result, err := s.gateway(name).Task(task).Exec(ctx, client.Exec{Line: line}, client.ExecOptions{Stdout: &out})
	if err != nil || result.Code != 0 {
		s.t.Fatalf("%s: %+v, %v: %s", line, result, err, &out)
	}
	return out.String()
}

// event1 is an event of a stream.
type event1 struct{ name, data string }

// follow opens a stream, which is closed with the test or by the returned function. It is read when somebody receives.
func (s *site) follow(path string) (<-chan event1, func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(answer.Body)
		s.t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
	}
	events, done := make(chan event1), make(chan struct{})
	go func() {
		defer close(done)
		defer close(events)
		lines := bufio.NewReaderSize(answer.Body, 64<<10)
		var now event1
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			switch line = strings.TrimSuffix(line, "\n"); {
			case strings.HasPrefix(line, "event: "):
				now.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				now.data = line[6:]
			case line == "" && now.name != "":
				select {
				case events <- now:
				case <-ctx.Done():
					return
				}
				now = event1{}
			}
		}
	}()
	stop := func() {
		cancel()
		answer.Body.Close()
		<-done
	}
	s.t.Cleanup(stop)
	return events, stop
}

// next is the next event.
func (s *site) next(events <-chan event1, within time.Duration) event1 {
	s.t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			s.t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(within):
		s.t.Fatalf("nothing comes within %v", within)
	}
	return event1{}
}

// overviewOf reads an event.
func (s *site) overviewOf(e event1) (o survey.Overview) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(e.data), &o); err != nil || e.name != "overview" {
		s.t.Fatalf("%+v: %v", e, err)
	}
	return o
}
