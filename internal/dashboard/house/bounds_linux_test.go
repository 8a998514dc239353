package house

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"hermes.example/hermes/internal/config"
)

// However many streams are opened, there is room for who asks something, and those who go make room for others.
func TestStreamsLeaveRoomForQuestions(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: new(net.Dialer).DialContext}}
	open := func(path string) int {
		r, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK {
			answer.Body.Close()
		}
		return answer.StatusCode
	}
	counted := map[int]int{}
	before := heap()
	for range 2000 {
		counted[open("/api/events")]++
	}
	t.Logf("2,000 streams: %v; %d KiB more of memory", counted, (int64(heap())-int64(before))>>10)
	if counted[200] != mostWatchers || counted[429] != 2000-mostWatchers {
		t.Errorf("2,000 streams: %v", counted)
	}
	s.ask("GET", "/api/overview", 200, nil)
	s.ask("POST", "/api/services/steady/restart", 200, nil)
	s.refused("GET", "/api/events", 429, "close some")
	if out := s.run("default", "work", "echo served"); out != "served\n" {
		t.Errorf("%q", out)
	}
	cancel()
	s.until("there is room again", func() bool {
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		return open("/api/events") == 200
	})
}

// All requests share the places that there are, and a rate; those for the API of a profile too.
func TestAHouseAnswersOnlySoMuch(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.run("default", "work", "true")
	places := 0
	s.until("all that there are to be are taken", func() bool { // an answer may be at an end before its place is given back
		for s.house.bounds.places.Take() {
			places++
		}
		return places == config.DefaultGatewayConcurrency
	})
	for _, path := range []string{"/api/overview", "/api/profiles/default/v1/sandboxes", "/api/nothing"} {
		s.refused("GET", path, 503, "too many requests at a time")
	}
	for range places {
		s.house.bounds.places.Give()
	}
	s.ask("GET", "/api/profiles/default/v1/sandboxes", 200, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() {
		for ctx.Err() == nil {
			s.house.bounds.rate.Take(struct{}{})
		}
	})
	s.until("it is asked too often", func() bool {
		answer, err := http.Get(s.server.URL + "/api/profiles/default/v1/sandboxes")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != ""
	})
	cancel()
	s.until("it is not asked too often any more", func() bool {
		answer, err := http.Get(s.server.URL + "/api/overview")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}
