package house

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

func TestTheAPIOfAProfileIsServedHere(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.addProfile("coder", "")
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	boxes := func() (all []survey.Box) {
		s.ask("GET", "/api/sandboxes", 200, &all)
		return all
	}
	if all := boxes(); len(all) != 0 {
		t.Errorf("before there is any: %+v", all)
	}
	api := s.gateway("coder")
	task := api.Task("a b/c") // which has to be escaped
	if _, err := task.Ensure(ctx, client.SandboxSpec{}); err != nil {
		t.Fatal(err)
	}
	if all := boxes(); len(all) != 1 || all[0].Profile != "coder" || all[0].Task != "a b/c" {
		t.Errorf("just made, and among those of the home there are %+v", all)
	}
	var out bytes.Buffer
	if result, err := task.Exec(ctx, client.Exec{Line: "echo out; exit 3"}, client.ExecOptions{Stdout: &out}); err != nil || result.Code != 3 || out.String() != "out\n" {
		t.Errorf("exec: %+v, %v: %q", result, err, out.String())
	}
	out.Reset()
	terminal := &sandbox.Terminal{Rows: 11, Cols: 44}
	if result, err := task.Exec(ctx, client.Exec{Line: "stty size; read word; echo got $word"}, client.ExecOptions{Stdin: strings.NewReader("typed\n"), Stdout: &out, Terminal: terminal}); err != nil || result.Code != 0 || !strings.Contains(out.String(), "11 44") || !strings.Contains(out.String(), "got typed") {
		t.Errorf("attach: %+v, %v: %q", result, err, out.String())
	}
	process, _, err := task.Start(ctx, client.ProcessRequest{Line: "echo from behind; exec sleep 1000", Name: "behind"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := task.Processes(ctx); err != nil || len(all) != 1 || all[0].Name != "behind" {
		t.Errorf("processes: %+v, %v", all, err)
	}
	if _, err := process.Kill(ctx, 0); err != nil {
		t.Errorf("kill: %v", err)
	}
	sheet, err := task.Inspect(ctx)
	if err != nil || len(sheet.Posture.Facts) == 0 || sheet.Identity.Profile != "coder" {
		t.Errorf("inspect: %+v, %v", sheet, err)
	}
	if addons, err := api.Addons(ctx); err != nil || len(addons.Addons) == 0 {
		t.Errorf("add-ons: %+v, %v", addons, err)
	}
	for path, want := range map[string]string{"/v1/openapi.json": `"openapi"`, "/metrics": `hermes_http_requests_total{route="PUT /v1/sandboxes/{task}",status="200"} 1`} {
		r, err := http.Get(s.server.URL + "/api/profiles/coder" + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, without %s: %.2000s", path, r.StatusCode, want, text)
		}
	}
	if removed, err := task.Remove(ctx, true); err != nil || len(removed.Removed) != 1 {
		t.Errorf("remove: %+v, %v", removed, err)
	}
	if all := boxes(); len(all) != 0 {
		t.Errorf("just removed, and among those of the home there are %+v", all)
	}
}

func TestAProfileThatIsNotThere(t *testing.T) {
	s := newSite(t, nil, nil)
	if err := os.MkdirAll(s.home+"/sessions", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nobody", "sessions", "%2e%2e", "..%2fdefault", "default%2f..", "DEFAULT", "%00"} {
		s.refused("GET", "/api/profiles/"+name+"/v1/sandboxes", 404, "there is no such profile")
	}
	if n := len(s.house.rooms.all); n != 0 {
		t.Errorf("%d rooms were opened", n)
	}
}

func TestAKilledGatewayIsSeenThroughItsRoomAndRestarted(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	api := s.gateway("default")
	s.until("it runs", func() bool {
		st, err := api.Status(t.Context())
		return err == nil && st.State == "running" && st.PID > 0
	})
	health := func() int {
		r, err := http.Get(s.server.URL + "/api/profiles/default/health")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	st, _ := api.Status(t.Context())
	if got := health(); got != 200 {
		t.Errorf("a gateway that runs is well: %d", got)
	}
	if err := syscall.Kill(st.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("it is seen that it is gone", func() bool {
		now, err := api.Status(t.Context())
		return err == nil && now.State == "stopped" && now.PID == 0
	})
	if got := health(); got != 503 {
		t.Errorf("a gateway that was killed is not well: %d", got)
	}
	// What it served is served here all the same.
	if out := s.run("default", "work", "echo without a gateway"); out != "without a gateway\n" {
		t.Errorf("%q", out)
	}
	// One that is wanted down does not come back by itself.
	s.ask("POST", "/api/services/gateway-default/stop", 200, nil)
	if now, err := api.Status(t.Context()); err != nil || now.State != "stopped" {
		t.Fatalf("%+v, %v", now, err)
	}
	if err := api.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until("it runs again", func() bool {
		now, err := api.Status(t.Context())
		return err == nil && now.State == "running" && now.PID != st.PID
	})
}

// What a room holds open is given up when nobody uses it, and opened again for the next.
func TestARoomThatNobodyUsesIsGivenUp(t *testing.T) {
	s := newSite(t, map[string]string{"TERMINAL_LIFETIME_SECONDS": "1"}, nil)
	s.run("default", "work", "true")
	open := func() int {
		s.house.rooms.mu.Lock()
		defer s.house.rooms.mu.Unlock()
		return len(s.house.rooms.all)
	}
	s.until("it holds no sandbox any more", func() bool {
		s.house.rooms.mu.Lock()
		defer s.house.rooms.mu.Unlock()
		here := s.house.rooms.all["default"]
		return here != nil && here.users == 0 && here.boxes.Held() == 0
	})
	s.house.rooms.sweep(time.Now().Add(unusedAfter / 2))
	if open() != 1 {
		t.Error("it is given up too early")
	}
	// An answer may be at an end before its room is left.
	s.until("it is given up", func() bool {
		s.house.rooms.sweep(time.Now().Add(2 * unusedAfter))
		return open() == 0
	})
	if out := s.run("default", "work", "echo again"); out != "again\n" || open() != 1 {
		t.Errorf("%q in %d rooms", out, open())
	}
}

func TestWhoFollowsSomethingIsToldOfTheEnd(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.run("default", "work", "true")
	events, _ := s.follow("/api/events")
	log, _ := s.follow("/api/services/steady/log?follow=1")
	told, _ := s.follow("/api/profiles/default/v1/sandboxes/work/events")
	s.next(events, bound)
	s.next(log, bound)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	began := time.Now()
	s.house.Drain(ctx)
	for e := range told {
		if e.name != client.EventDraining {
			t.Errorf("%+v", e)
		}
	}
	for range events { // until it ends
	}
	for range log {
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	s.refused("GET", "/api/profiles/default/v1/sandboxes", 503, "ending")
}

func TestTheLastHourTellsWhatCommandsUsed(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.run("default", "work", "true")
	var before, after survey.Box
	look := func(into *survey.Box) func() bool {
		return func() bool {
			boxes := s.house.sight.sandboxes.fresh().boxes
			if len(boxes) == 1 && boxes[0].Usage != nil {
				*into = boxes[0]
			}
			return into.Usage != nil && (into == &before || into.Usage.Finished >= before.Usage.Finished+3)
		}
	}
	s.until("the guest tells", look(&before))
	for range 2 {
		s.run("default", "work", "true")
	}
	s.run("default", "work", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done")
	s.until("three more have ended", look(&after))
	if n := after.Usage.Finished - before.Usage.Finished; n != 3 {
		t.Errorf("%d commands have ended", n)
	}
	if cpu := after.Usage.CPU - before.Usage.CPU; cpu < 100*time.Millisecond {
		t.Errorf("what counted to 150,000 used %v", cpu)
	}
	if after.Usage.Memory < 1<<20 {
		t.Errorf("it has %d bytes", after.Usage.Memory)
	}
	var hour struct {
		Step     int
		CPU      []*float64
		Memory   []*int64
		Commands []*int64
	}
	s.ask("GET", "/api/history", 200, &hour)
	if hour.Step != 10 || len(hour.CPU) != 360 || len(hour.Memory) != 360 || len(hour.Commands) != 360 || hour.Memory[359] == nil || *hour.Memory[359] < 1<<20 {
		t.Errorf("%+v", hour)
	}
}

// A sandbox that is looked at is not in use thereby: it is reaped as if nobody had looked.
func TestLookingKeepsNoSandboxAlive(t *testing.T) {
	s := newSite(t, map[string]string{"TERMINAL_LIFETIME_SECONDS": "1"}, nil)
	s.run("default", "work", "true")
	s.until("the room is given up", func() bool {
		s.house.rooms.sweep(time.Now().Add(2 * unusedAfter))
		s.house.rooms.mu.Lock()
		defer s.house.rooms.mu.Unlock()
		return len(s.house.rooms.all) == 0
	})
	var idle int64
	s.until("it is idle for three seconds, though it is looked at", func() bool {
		boxes := s.house.sight.sandboxes.fresh().boxes
		if len(boxes) != 1 || boxes[0].Idle == nil {
			return false
		}
		if *boxes[0].Idle < idle {
			t.Fatalf("it was idle for %d s, and then for %d s", idle, *boxes[0].Idle)
		}
		idle = *boxes[0].Idle
		return idle >= 3
	})
}
