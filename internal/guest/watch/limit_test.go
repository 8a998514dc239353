package watch

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// desk is a watcher with a clock that a test sets, and what it told.
type desk struct {
	*Watcher
	clock time.Duration
	told  []Notice
}

func newDesk(t *testing.T, b *Breaker, patterns ...string) *desk {
	t.Helper()
	d := &desk{}
	var err error
	d.Watcher, err = New(patterns, b, func() time.Duration { return d.clock }, func(n Notice) { d.told = append(d.told, n) })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// at writes a line at a time.
func (d *desk) at(seconds float64, line string) {
	d.clock = time.Duration(seconds * float64(time.Second))
	d.Write([]byte(line + "\n"))
}

func (d *desk) lines() []string {
	var all []string
	for _, n := range d.told {
		switch n.Kind {
		case Match:
			all = append(all, n.Line)
		case Over:
			all = append(all, "over")
		case Paused:
			all = append(all, "paused")
		}
	}
	return all
}

func (d *desk) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := d.lines(); !slices.Equal(got, want) {
		t.Errorf("told %q, not %q", got, want)
	}
}

func TestMatchesAreFarApart(t *testing.T) {
	d := newDesk(t, &Breaker{}, "x")
	d.at(0, "x1")
	d.at(14.9, "x2")
	d.at(15, "x3")
	d.expect(t, "x1", "x3")
	if held := d.told[1].Held; held != 1 {
		t.Errorf("%d are said to be held back, not 1", held)
	}
}

func TestThreeStrikesInARowEndTheWatch(t *testing.T) {
	d := newDesk(t, &Breaker{}, "x")
	for i := range 3 {
		d.at(float64(20*i), "x told")
		d.at(float64(20*i)+1, "x too soon")
		d.at(float64(20*i)+2, "x too soon, but the same strike")
	}
	d.expect(t, "x told", "x told", "x told", "over")
	d.at(1000, "x later")
	d.expect(t, "x told", "x told", "x told", "over")
}

func TestAQuietIntervalForgivesStrikes(t *testing.T) {
	d := newDesk(t, &Breaker{}, "x")
	for i := range 7 {
		d.at(float64(40*i), "x")
		if i%3 != 2 { // two strikes, then none
			d.at(float64(40*i)+1, "x")
		}
	}
	d.expect(t, "x", "x", "x", "x", "x", "x", "x")
}

func TestOnlySoManyMatchesAreTold(t *testing.T) {
	d := newDesk(t, &Breaker{}, "x")
	for i := range 12 {
		d.at(float64(60*i), "x")
	}
	d.expect(t, "x", "x", "x", "x", "x", "x", "x", "x", "over")
}

func TestTheBreakerSilencesAllForAWhile(t *testing.T) {
	b := &Breaker{}
	all := make([]*desk, 18)
	for i := range all {
		all[i] = newDesk(t, b, "x")
	}
	for i := range 16 {
		all[i].at(float64(i)*0.1, "x")
	}
	all[14].expect(t, "x")
	all[15].expect(t, "paused")
	all[16].at(31.4, "x") // the pause began at 1.5
	all[16].expect(t)
	all[17].at(31.5, "x")
	all[17].expect(t, "x")
	// What was held back by the breaker is neither told nor lost from the count.
	all[16].at(32, "x")
	if n := all[16].told; len(n) != 1 || n[0].Held != 1 {
		t.Errorf("told %+v", n)
	}
}

func TestTheBreakerLetsASlowStreamPass(t *testing.T) {
	b := &Breaker{}
	told := 0
	for i := range 100 {
		d := newDesk(t, b, "x")
		d.at(float64(i)*0.7, "x") // 14 or 15 within ten seconds
		told += len(d.told)
	}
	if told != 100 {
		t.Errorf("%d of 100 were told", told)
	}
}

func TestLinesAreWholeHoweverTheyArrive(t *testing.T) {
	d := newDesk(t, &Breaker{}, "^ready on [0-9]+$")
	for _, p := range []string{"not re", "ady on 1\nrea", "dy on ", "80", "80\r\nmore"} {
		d.Write([]byte(p))
	}
	d.expect(t, "ready on 8080")
}

func TestALastLineWithoutAnEndCounts(t *testing.T) {
	d := newDesk(t, &Breaker{}, "prompt")
	d.Write([]byte("prompt> "))
	d.expect(t)
	d.Close()
	d.expect(t, "prompt> ")
	d.at(100, "prompt")
	d.expect(t, "prompt> ")
}

func TestAnEndlessLineTakesNoMemory(t *testing.T) {
	d := newDesk(t, &Breaker{}, "needle")
	d.Write([]byte("needle"))
	for range 1000 {
		d.Write([]byte(strings.Repeat("x", 10_000)))
	}
	if c := cap(d.line); c > 4*maxLine {
		t.Errorf("%d bytes are kept of one line", c)
	}
	d.Write([]byte("\n"))
	if len(d.told) != 1 || len(d.told[0].Line) != maxTold {
		t.Fatalf("told %d notices", len(d.told))
	}
	// Beyond what is looked at nothing matches, and the next line is looked at anew.
	d.clock = time.Hour
	d.Write([]byte(strings.Repeat("y", maxLine) + "needle\nneedle\n"))
	if len(d.told) != 2 || d.told[1].Line != "needle" {
		t.Errorf("told %+v", d.told[1:])
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	for _, bad := range [][]string{{"("}, {strings.Repeat("x", maxPattern+1)}, slices.Repeat([]string{"x"}, maxPatterns+1)} {
		if _, err := New(bad, &Breaker{}, nil, nil); err == nil {
			t.Errorf("%.40q is taken", bad)
		}
	}
}
