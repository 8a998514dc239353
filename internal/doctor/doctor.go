// Package doctor looks at a machine and says what of Hermes works on it, what works
// less well, and what does not, each time with the command that mends it.
//
// "hermes doctor" calls it. It tries things rather than deduce them from versions,
// at last with a real sandbox. It changes nothing: what it makes for a trial is
// gone afterwards, and nothing that hangs, be it a program, a daemon or a file
// system, keeps it longer than two seconds.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/internal/config"
)

// Severity is how bad a finding is.
type Severity string

// From good to bad.
const (
	OK   Severity = "ok"
	Note Severity = "note" // works, but less
	Bad  Severity = "bad"  // something that Hermes needs does not work
)

// Finding is one thing that was looked at.
type Finding struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Found    string   `json:"found"`
	// Fix is a command for this machine; empty only where all is well.
	Fix string `json:"fix"`
}

func ok(name, format string, args ...any) Finding {
	return Finding{Name: name, Severity: OK, Found: fmt.Sprintf(format, args...)}
}

func (s Severity) finding(name, fix, format string, args ...any) Finding {
	return Finding{Name: name, Severity: s, Found: fmt.Sprintf(format, args...), Fix: fix}
}

// CountBad says how many findings are bad.
func CountBad(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Severity == Bad {
			n++
		}
	}
	return n
}

// Options of a run.
type Options struct {
	Config config.Config
	Lookup config.Lookup
	// Inside is a command that calls Inside.
	Inside []string
}

// Where the two seconds go, the start of the program left aside.
const (
	wholeBound   = 1850 * time.Millisecond
	checkBound   = 900 * time.Millisecond // for all checks, which run side by side
	programBound = 700 * time.Millisecond // for one program
	removeBound  = 200 * time.Millisecond // for the removal of the sandbox, which gets all that the checks leave
)

// noAnswer is said of what did not end in its time.
const noAnswer = "no answer within %v"

// check is one look at the machine. It gives one finding or more.
type check struct {
	name string
	look func(context.Context, *machine) []Finding
	// late is what it means, and lateFix what to do, when the look does not end.
	late    Severity
	lateFix string
}

// Run looks at everything and returns what it found.
func Run(ctx context.Context, o Options) []Finding {
	m := thisMachine(o)
	began := time.Now()
	found := m.all(ctx, checkBound, checks(m))
	return append(found, m.all(ctx, wholeBound-time.Since(began), lastChecks(m))...)
}

// all runs checks side by side and returns their findings in the order of the checks.
func (m *machine) all(ctx context.Context, bound time.Duration, checks []check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	results := make([][]Finding, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() { results[i] = m.one(ctx, bound, c) })
	}
	running.Wait()
	return slices.Concat(results...)
}

// one runs one check. A system call that hangs, as on a file system whose server
// is gone, cannot be ended: its goroutine ends with the process.
func (m *machine) one(ctx context.Context, bound time.Duration, c check) []Finding {
	done := make(chan []Finding, 1)
	go func() { done <- c.look(ctx, m) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
	}
	// What is bounded by the context ends just after it, and knows more.
	select {
	case found := <-done:
		return found
	case <-time.After(50 * time.Millisecond):
		return []Finding{c.late.finding(c.name, c.lateFix, noAnswer, bound.Round(time.Millisecond))}
	}
}
