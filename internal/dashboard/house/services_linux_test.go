package house

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/survey"
)

func TestAServiceIsStoppedStartedAndRestarted(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	for _, name := range []string{"steady", "gateway-default"} {
		s.until(name+" is up", func() bool { return s.service(name).State == survey.Up })
		before := s.service(name).PID
		var now survey.Service
		if s.ask("POST", "/api/services/"+name+"/stop", 200, &now); now.State != survey.Down || now.Want != "down" || now.PID != 0 {
			t.Errorf("stopped: %+v", now)
		}
		if s.ask("POST", "/api/services/"+name+"/start", 200, &now); now.State != survey.Up || now.PID == 0 || now.PID == before {
			t.Errorf("started: %+v", now)
		}
		before = now.PID
		if s.ask("POST", "/api/services/"+name+"/restart", 200, &now); now.State != survey.Up || now.PID == 0 || now.PID == before {
			t.Errorf("restarted: %+v", now)
		}
	}
	s.refused("POST", "/api/services/nobody/start", 404, "no such service")
	s.refused("POST", "/api/services/..%2fsteady/start", 404, "no such service")
	s.refused("POST", "/api/services/steady/explode", 404, "no such thing")
	s.refused("GET", "/api/services/steady/start", 404, "no such thing")
}

func TestTheReasonOfAParkedServiceIsTold(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.until("it is parked", func() bool { return s.service("misled").State == survey.Parked })
	if now := s.service("misled"); !strings.Contains(now.Reason, "78") || !strings.Contains(now.Text, "parked: "+now.Reason) || now.Kind != survey.Other || now.PID != 0 {
		t.Errorf("%+v", now)
	}
	before := s.service("misled").Since
	var again survey.Service
	if s.ask("POST", "/api/services/misled/start", 200, &again); again.State != survey.Parked && again.PID == 0 { // it may run a while on a busy machine
		t.Errorf("after a start: %+v", again)
	}
	s.until("it was tried, and is parked again", func() bool {
		now := s.service("misled")
		return now.State == survey.Parked && now.Since.After(before)
	})
	events, _ := s.follow("/api/services/misled/log?lines=1")
	if got := linesOf(t, s.next(events, bound)); len(got) != 1 || !strings.HasSuffix(got[0], "the key is missing") {
		t.Errorf("%q", got)
	}
	if e, more := <-events; more {
		t.Errorf("one that is not followed goes on: %+v", e)
	}
	for _, query := range []string{"lines=x", "lines=-1", "lines=2001", "follow=maybe"} {
		s.refused("GET", "/api/services/misled/log?"+query, 400, "cannot")
	}
	s.refused("GET", "/api/services/nobody/log", 404, "no such service")
}

// linesOf reads an event with lines.
func linesOf(t *testing.T, e event1) []string {
	t.Helper()
	var data struct{ Lines []string }
	if err := json.Unmarshal([]byte(e.data), &data); err != nil || e.name != "lines" || len(data.Lines) == 0 {
		t.Fatalf("%s: %v: %.200s", e.name, err, e.data)
	}
	return data.Lines
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func TestTenThousandLinesASecondAreFollowedWithoutGrowth(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	events, _ := s.follow("/api/services/chatty/log?lines=0&follow=1")
	s.ask("POST", "/api/services/chatty/start", 200, nil)
	began, lines, batches, dropped := time.Now(), 0, 0, 0
	follow := func(enough int) {
		for lines < enough {
			e := s.next(events, bound)
			if e.name == "dropped" {
				dropped++
				continue
			}
			lines += len(linesOf(t, e))
			batches++
		}
	}
	follow(5000)
	before := heap()
	follow(60_000)
	took, grown := time.Since(began), int64(heap())-int64(before)
	t.Logf("%d lines in %v, %d batches, dropped %d times, %d kB more of memory", lines, took.Round(time.Millisecond), batches, dropped, grown>>10)
	if grown > 8<<20 {
		t.Errorf("the memory has grown by %d bytes", grown)
	}
	if most := int(took/batchEvery) + 10; batches > most { // a busy machine sends one late and the next in time
		t.Errorf("%d batches in %v, more than ten a second", batches, took)
	}
}

// Who reads too slowly is told how much is missing, and goes on with the newest; meanwhile the memory stays where it is.
func TestAReaderThatIsTooSlowGoesOnWithTheNewest(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	s.ask("POST", "/api/services/flood/start", 200, nil)
	events, stop := s.follow("/api/services/flood/log?lines=10&follow=1")
	s.next(events, bound)
	before := heap()
	slow := time.NewTimer(6 * time.Second)
	defer slow.Stop()
	<-slow.C // nothing is read: what the connection holds fills up first
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("the memory has grown by %d bytes", grown)
	}
	lost, after := 0, 0
	for lost == 0 {
		e := s.next(events, bound)
		if e.name == "dropped" {
			var d struct{ Lines int }
			if err := json.Unmarshal([]byte(e.data), &d); err != nil || d.Lines < 1 {
				t.Fatalf("%+v: %v", e, err)
			}
			lost = d.Lines
		}
	}
	for after < 20_000 { // it goes on
		if e := s.next(events, bound); e.name == "lines" {
			after += len(linesOf(t, e))
		}
	}
	t.Logf("%d lines were left out", lost)
	stop()
}

// However many logs are followed, others can still ask the supervisor, and who comes too late is told why.
func TestLogsLeaveTheSupervisorToOthers(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	var refused int
	for range 150 {
		answer, err := s.server.Client().Get(s.server.URL + "/api/services/chatty/log?follow=1")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
		case http.StatusTooManyRequests:
			refused++
		default:
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("%s: %s", answer.Status, text)
		}
	}
	if refused != 150-mostReaders {
		t.Errorf("%d were refused", refused)
	}
	s.ask("POST", "/api/services/chatty/start", 200, nil)
}

func TestABacklogHasItsBounds(t *testing.T) {
	var b backlog
	b.more = make(chan struct{}, 1)
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	text.WriteString(strings.Repeat("x", 3*longestLine) + "\nbad \xff\nlast")
	b.fill(strings.NewReader(text.String()))
	lines, dropped, over := b.take()
	if len(lines) > backlogLines || len(lines)+dropped != 10_003 || !over {
		t.Errorf("%d lines, %d dropped, over %v", len(lines), dropped, over)
	}
	if n := len(lines); lines[n-3] != strings.Repeat("x", longestLine)+"…" || lines[n-2] != "bad \uFFFD" || lines[n-1] != "last" || lines[n-4] != "line 9999" {
		t.Errorf("the end is %.40q", lines[n-4:])
	}
	for range 200 {
		b.add(strings.Repeat("y", longestLine))
	}
	if lines, _, _ := b.take(); len(lines)*longestLine > backlogBytes {
		t.Errorf("%d long lines are kept", len(lines))
	}
}
