package supervise

import (
	"context"
	"log/slog"
	"slices"
	"testing"
)

// deaf is a log that nobody reads, until the test says so.
type deaf struct {
	slog.Handler
	heard chan struct{}
	lines *[]string
}

func (d deaf) Enabled(context.Context, slog.Level) bool { return true }
func (d deaf) Handle(_ context.Context, r slog.Record) error {
	<-d.heard
	*d.lines = append(*d.lines, r.Message)
	return nil
}

func TestALogThatNobodyReadsHoldsUpNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.journal.close()
		var lines []string
		log := deaf{slog.DiscardHandler, make(chan struct{}), &lines}
		s.journal = newJournal(slog.New(log))
		s.must(s.Register(t.Context(), svc(), true))
		for range queued {
			s.is("up", Ready)
			s.must(s.Restart(t.Context(), "x"))
		}
		s.is("up", Ready)
		close(log.heard)
		s.journal.close()
		if len(lines) != 1+queued+1 || lines[1] != "the log could not keep up" {
			t.Errorf("%d lines: %q", len(lines), lines[:3])
		}
	})
}

// told notes what a log is told, a line each.
type told struct {
	slog.Handler
	lines *[]string
}

func (n told) Enabled(context.Context, slog.Level) bool { return true }
func (n told) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	*n.lines = append(*n.lines, line)
	return nil
}

func TestTheLogIsToldOfChangesOnly(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.journal.close()
		var lines []string
		s.journal = newJournal(slog.New(told{slog.DiscardHandler, &lines}))
		s.must(s.Register(t.Context(), svc(), false))
		s.must(s.Stop(t.Context(), "x"))
		s.must(s.Unregister(t.Context(), "x"))
		s.must(s.Register(t.Context(), svc(), true))
		s.is("up", Ready)
		s.journal.close()
		want := []string{"service name=x state=starting was=down", "service name=x state=up was=starting", "service name=x state=ready was=up"}
		if !slices.Equal(lines, want) {
			t.Errorf("it was told %q", lines)
		}
	})
}
