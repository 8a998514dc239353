package house

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

func TestTheOverviewTellsOfEveryPart(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.addProfile("coder", "")
	s.run("default", "work", "echo here")
	s.until("all parts are told", func() bool {
		var o survey.Overview
		s.ask("GET", "/api/overview", 200, &o)
		gateway := one(t, o.Services, "gateway-default")
		return o.Home == s.home && o.Version != "" && o.Problem == "" && o.Engine == (survey.Engine{Name: "native", Why: "TERMINAL_ENV says so"}) &&
			gateway.State == survey.Up && gateway.Kind == survey.Gateway && gateway.Profile == "default" && strings.HasPrefix(gateway.Text, "up (pid ") && gateway.Supervised &&
			len(o.Profiles) == 2 && o.Profiles[0].Name == "default" && o.Profiles[0].Gateway.PID == gateway.PID && o.Profiles[1].Name == "coder" && o.Profiles[1].Gateway == nil &&
			len(o.Sandboxes) == 1 && o.Sandboxes[0].Task == "work" && o.Sandboxes[0].Profile == "default" && o.Sandboxes[0].State == sandbox.Running &&
			o.Sandboxes[0].Engine == "native" && o.Sandboxes[0].Problem == "" && !o.Sandboxes[0].Created.IsZero() &&
			o.Addons.Features == 3
	})
	var profiles []survey.Profile
	var boxes []survey.Box
	if s.ask("GET", "/api/profiles", 200, &profiles); len(profiles) != 2 {
		t.Errorf("profiles: %+v", profiles)
	}
	if s.ask("GET", "/api/sandboxes", 200, &boxes); len(boxes) != 1 {
		t.Errorf("sandboxes: %+v", boxes)
	}
	for _, path := range []string{"/api/sessions", "/api", "/api/services/steady"} {
		s.refused("GET", path, 404, "no such thing")
	}
}

func TestACrashIsSeenWithinThreeSeconds(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.until("the gateway is up", func() bool { return s.service("gateway-default").State == survey.Up })
	before := s.service("gateway-default").PID
	events, _ := s.follow("/api/events")
	if o := s.overviewOf(s.next(events, bound)); one(t, o.Services, "gateway-default").PID != before {
		t.Fatalf("the first event is about another time: %+v", o)
	}
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for {
		o := s.overviewOf(s.next(events, 3*time.Second-time.Since(killed)))
		now := one(t, o.Services, "gateway-default")
		if now.PID == before {
			continue
		}
		if now.State == survey.Backoff && !strings.Contains(now.Text, "SIGKILL") {
			t.Errorf("why it waits is not said: %+v", now)
		}
		if *o.Profiles[0].Gateway != now {
			t.Errorf("the profile has another gateway: %+v", o.Profiles[0])
		}
		t.Logf("seen after %v", time.Since(killed))
		return
	}
}

func TestABrokenProfileTakesNothingFromTheOthers(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.addProfile("broken", "terminal: [not, a, mapping\n")
	s.run("default", "work", "true")
	s.until("the others are told of", func() bool {
		var o survey.Overview
		s.ask("GET", "/api/overview", 200, &o)
		return len(o.Profiles) == 2 && o.Profiles[0].Problem == "" && o.Profiles[1].Name == "broken" &&
			strings.Contains(o.Profiles[1].Problem, "broken") && o.Problem == "" && o.Engine.Problem == "" && len(o.Sandboxes) == 1
	})
	var problem struct{ Code, Detail string }
	if s.ask("GET", "/api/profiles/broken/v1/sandboxes", 503, &problem); problem.Code != "unavailable" || problem.Detail == "" {
		t.Errorf("%+v", problem)
	}
	// The home's own configuration may be the broken one.
	s.addProfile("default", "terminal: [not, a, mapping\n")
	s.until("the home says what is wrong, and its sandboxes are there", func() bool {
		var o survey.Overview
		s.ask("GET", "/api/overview", 200, &o)
		return o.Problem != "" && o.Engine.Problem != "" && o.Profiles[0].Problem != "" && len(o.Services) > 0
	})
}

// silence is a daemon that takes connections and never says anything.
func silence(t *testing.T) string {
	path := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "silence.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return "unix://" + path
}

func TestNothingWaitsForAnEngineThatDoesNotAnswer(t *testing.T) {
	s := newSite(t, map[string]string{"TERMINAL_ENV": "docker"}, func(s *site, o *Options) {
		s.vars["DOCKER_HOST"] = silence(t)
		withSupervisor(s, o)
	})
	began := time.Now()
	var o survey.Overview
	s.ask("GET", "/api/overview", 200, &o)
	if took := time.Since(began); took > 5*time.Second || o.Engine.Name != "docker" || o.Engine.Problem == "" {
		t.Errorf("after %v: %+v", took, o.Engine)
	}
	events, _ := s.follow("/api/events")
	before := one(t, s.overviewOf(s.next(events, bound)).Services, "steady").PID
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for killed := time.Now(); ; {
		if one(t, s.overviewOf(s.next(events, 3*time.Second-time.Since(killed))).Services, "steady").PID != before {
			return
		}
	}
}

func TestWithoutASupervisor(t *testing.T) {
	s := newSite(t, nil, func(s *site, o *Options) {
		o.Services = func(context.Context, func(control.Operations) error) error { return survey.ErrNoSupervisor }
	})
	var o survey.Overview
	s.ask("GET", "/api/overview", 200, &o)
	if len(o.Services) != 0 || o.Services == nil || o.Problem != "" || len(o.Profiles) != 1 || o.Profiles[0].Gateway != nil {
		t.Errorf("%+v", o)
	}
	s.refused("POST", "/api/services/gateway-default/start", 503, "no supervisor runs here")
	s.refused("GET", "/api/services/gateway-default/log", 503, "no supervisor runs here")
	var status struct{ State string }
	if s.ask("GET", "/api/profiles/default/v1/status", 200, &status); status.State != "unknown" {
		t.Errorf("%+v", status)
	}
	var problem struct{ Detail string }
	if s.ask("POST", "/api/profiles/default/v1/restart", 503, &problem); !strings.Contains(problem.Detail, "no supervisor runs here") {
		t.Errorf("%+v", problem)
	}
}

func TestASupervisorThatDoesNotAnswerIsSaid(t *testing.T) {
	s := newSite(t, nil, func(s *site, o *Options) {
		o.Services = func(ctx context.Context, do func(control.Operations) error) error {
			return do(control.Dial(filepath.Join(s.home, "nobody.sock")))
		}
	})
	var o survey.Overview
	if s.ask("GET", "/api/overview", 200, &o); !strings.Contains(o.Problem, "cannot reach the supervisor") || o.Engine.Name != "native" || len(o.Profiles) != 1 {
		t.Errorf("%+v", o)
	}
	s.refused("GET", "/api/services", 503, "cannot reach the supervisor")
	s.refused("POST", "/api/services/steady/start", 503, "cannot reach the supervisor")
}

// counting counts how often the supervisor is asked.
type counting struct{ asked atomic.Int64 }

func (c *counting) count(s *site, o *Options) {
	ask := supervised(s.t, s.home)
	o.Services = func(ctx context.Context, do func(control.Operations) error) error {
		c.asked.Add(1)
		return ask(ctx, do)
	}
}

func spent() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestAHundredPagesAreToldByOneLooker(t *testing.T) {
	var c counting
	s := newSite(t, nil, c.count)
	s.until("it is up", func() bool { return s.service("steady").State == survey.Up })
	var stops []func()
	var streams []<-chan event1
	for range 100 {
		events, stop := s.follow("/api/events")
		streams, stops = append(streams, events), append(stops, stop)
	}
	for _, events := range streams {
		s.overviewOf(s.next(events, bound))
	}
	const watch = 4 * time.Second
	asked, cpu := c.asked.Load(), spent()
	quiet := time.NewTimer(watch)
	defer quiet.Stop()
	<-quiet.C // it is the passing of time that is measured
	asked, cpu = c.asked.Load()-asked, spent()-cpu
	t.Logf("100 pages for %v: the supervisor is asked %d times, %v of a processor (%.2f %%)", watch, asked, cpu, 100*float64(cpu)/float64(watch))
	// Once a second by the looker, and perhaps once for the history.
	if asked < 2 || asked > int64(watch/time.Second)+3 {
		t.Errorf("the supervisor was asked %d times in %v", asked, watch)
	}
	if cpu > watch/4 {
		t.Errorf("%v of a processor in %v", cpu, watch)
	}
	before := s.service("steady").PID
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for _, events := range streams {
		for one(t, s.overviewOf(s.next(events, 3*time.Second)).Services, "steady").PID == before {
		}
	}
	t.Logf("all were told of a crash after %v", time.Since(killed))
	for _, stop := range stops {
		stop()
	}
	s.until("nobody watches", func() bool {
		s.house.crowd.mu.Lock()
		defer s.house.crowd.mu.Unlock()
		return s.house.crowd.members == 0
	})
	s.house.crowd.wait()
	asked = c.asked.Load()
	alone := time.NewTimer(watch)
	defer alone.Stop()
	<-alone.C
	if asked = c.asked.Load() - asked; asked > 1 {
		t.Errorf("the supervisor was asked %d times while nobody watched", asked)
	}
}
