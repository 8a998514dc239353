//go:build linux

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hermes.example/hermes/internal/wire"
)

func eventsIn(t *testing.T, dir string) *events {
	t.Helper()
	spool, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { spool.Close() })
	return openEvents(spool)
}

// after lists the lines of the events after a number, and how many were missed.
func (e *events) after(since uint64) (lines []string, missed uint64) {
	s := &subscriber{events: e, since: since}
	for {
		event, ok := s.next(false)
		if !ok {
			return lines, missed
		}
		if missed += event.Missed; event.Kind != wire.EventGap {
			lines = append(lines, event.Line)
		}
	}
}

func TestEventsGoOnAcrossGuests(t *testing.T) {
	dir := t.TempDir()
	n := 0
	for range 5 {
		e := eventsIn(t, dir)
		for range 300 {
			n++
			e.add(wire.Event{Kind: wire.EventMatch, Line: fmt.Sprint(n)})
		}
		e.file.Close()
	}
	e := eventsIn(t, dir)
	lines, missed := e.after(0)
	if len(lines) != keptEvents || missed != uint64(n-keptEvents) || lines[0] != fmt.Sprint(n-keptEvents+1) || lines[len(lines)-1] != fmt.Sprint(n) {
		t.Errorf("%d events of %d from %q to %q, %d missed", len(lines), n, lines[0], lines[len(lines)-1], missed)
	}
	if lines, missed := e.after(uint64(n - 2)); missed != 0 || len(lines) != 2 || lines[0] != fmt.Sprint(n-1) {
		t.Errorf("after %d come %q, %d missed", n-2, lines, missed)
	}
	if lines, _ := e.after(uint64(n)); len(lines) != 0 {
		t.Errorf("after the last come %q", lines)
	}
	if info, err := os.Stat(filepath.Join(dir, eventsName)); err != nil || info.Size() > 200*maxEventLines {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

func TestAnEventThatWasCutShortIsNoEvent(t *testing.T) {
	dir := t.TempDir()
	e := eventsIn(t, dir)
	e.add(wire.Event{Line: "one"})
	e.file.WriteString(`{"number":2,"li`)
	e = eventsIn(t, dir)
	e.add(wire.Event{Line: "two"})
	e = eventsIn(t, dir)
	if lines, _ := e.after(0); len(lines) != 2 || lines[1] != "two" {
		t.Errorf("kept %q", lines)
	}
}

func TestASubscriberWaitsAndCanBeClosed(t *testing.T) {
	e := openEvents(nil)
	s := &subscriber{events: e}
	got := make(chan string)
	go func() {
		for {
			event, ok := s.next(true)
			if !ok {
				close(got)
				return
			}
			got <- event.Line
		}
	}()
	e.add(wire.Event{Line: "one"})
	if line := <-got; line != "one" {
		t.Errorf("got %q", line)
	}
	s.close()
	if line, ok := <-got; ok {
		t.Errorf("got %q after the end", line)
	}
}
