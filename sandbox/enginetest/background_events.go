package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/sandbox"
)

var backgroundEventTests = []test{
	{"background/a line that matches is an event", matchIsEvent},
	{"background/an end is an event if that is asked for", endIsEvent},
	{"background/who notifies of the end is not watched and is told", notifyExcludesWatch},
	{"background/events go on after a cut", eventsAfterCut},
	{"background/events that are no longer kept are counted", eventGap},
}

func (b *box) pastEvents(since uint64) []sandbox.Event {
	b.t.Helper()
	all, err := b.PastEvents(bounded(b.t), since)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func matchIsEvent(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "echo starting; printf 'listening on '; sleep 0.1; echo 8080; echo listening on 9090; sleep 300"},
		Name: "server", Watch: []string{"no such", "^listening on [0-9]+$"}})
	p.says("9090")
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	for e, err := range b.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Number != 1 || e.Kind != sandbox.EventMatch || e.Process != p.ID || e.Name != "server" || e.Line != "listening on 8080" || e.Pattern != "^listening on [0-9]+$" {
			t.Errorf("the event is %+v", e)
		}
		break
	}
	// The second came too soon to be told.
	if all := b.pastEvents(0); len(all) != 1 {
		t.Errorf("the events are %+v", all)
	}
}

func endIsEvent(t *testing.T, s *suite) {
	b := s.box(t)
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	heard := make(chan sandbox.Event, 2)
	ended := beside(t, func() error {
		for e, err := range b.Events(ctx, 0) {
			if err != nil {
				return err
			}
			heard <- e
		}
		return nil
	})
	b.startLine("exit 3").wait(3, sandbox.Exited) // nobody asked
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "exit 4"}, Notify: true})
	next := func() sandbox.Event {
		select {
		case e := <-heard:
			return e
		case err := <-ended:
			t.Fatal(err)
		}
		return sandbox.Event{}
	}
	if e := next(); e.Kind != sandbox.EventExit || e.Process != p.ID || e.Result == nil || e.Result.Code != 4 {
		t.Errorf("the event is %+v", e)
	}
	killed := b.start(sandbox.Background{Command: sandbox.Command{Line: "sleep 300"}, Notify: true})
	killed.kill(0)
	if e := next(); e.Number != 2 || e.Result == nil || e.Result.Reason != sandbox.Killed {
		t.Errorf("the event is %+v", e)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a listener that is cancelled gets %v", err)
	}
}

func notifyExcludesWatch(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "echo match"}, Watch: []string{"match"}, Notify: true})
	if p.Started.Remark == "" || len(p.Started.Watch) > 0 {
		t.Errorf("the answer is %+v", p.Started)
	}
	p.wait(0, sandbox.Exited)
	if all := b.pastEvents(0); len(all) != 1 || all[0].Kind != sandbox.EventExit {
		t.Errorf("the events are %+v", all)
	}
}

func eventsAfterCut(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	other := s.ensure(t, s.another(t, s.engine), b.Identity(), s.spec())
	const many = 10
	var starting sync.WaitGroup
	t.Cleanup(starting.Wait) // however the test ends
	starting.Go(func() {
		for i := range many {
			running := other.start(sandbox.Background{Command: sandbox.Command{Line: fmt.Sprint("exit ", i)}, Notify: true})
			running.wait(i, sandbox.Exited)
		}
	})
	next := 0
	for e, err := range b.Events(bounded(t), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Number != uint64(next+1) || e.Result.Code != next {
			t.Fatalf("event %d is %+v", next, e)
		}
		if next++; next == many {
			break
		}
		f.cut()
	}
	starting.Wait() // the last one's event may be here before its waiter is
	if all := b.pastEvents(many - 2); len(all) != 2 || all[1].Number != many {
		t.Errorf("the last two are %+v", all)
	}
}

func eventGap(t *testing.T, s *suite) {
	b := s.box(t)
	const many, kept = 300, 256
	// One that starts others would be quicker, but this is how they are started.
	places := make(chan struct{}, 8)
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			p, err := b.Start(bounded(t), b.paths.told(sandbox.Background{Command: sandbox.Command{Argv: []string{"true"}}, Notify: true}))
			if err == nil {
				_, err = p.Wait(bounded(t))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	past := b.pastEvents(10)
	if len(past) != kept+1 || past[0].Kind != sandbox.EventGap || past[0].Missed != many-kept-10 || past[1].Number != many-kept+1 {
		t.Errorf("%d events, which begin with %+v", len(past), past[:min(len(past), 2)])
	}
	// Of so many processes the last are kept, too.
	if n := len(b.listed()); n != kept {
		t.Errorf("%d processes are listed", n)
	}
	if _, err := b.Process(strings.Repeat("x", 17)).Poll(bounded(t)); err == nil {
		t.Error("what there is not can be polled")
	}
}
