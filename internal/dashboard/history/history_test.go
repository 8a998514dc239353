package history

import (
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func sampleOf(n int64) Sample { return Sample{CPU: ptr(float64(n)), Memory: ptr(n), Commands: ptr(n)} }

// known are the values that there are, with their places.
func known(values []*int64) map[int]int64 {
	found := map[int]int64{}
	for i, v := range values {
		if v != nil {
			found[i] = *v
		}
	}
	return found
}

func TestTheLastHourIsKeptAndNoMore(t *testing.T) {
	var h History
	began := time.Unix(1_700_000_005, 0)
	for i := range int64(Length + 40) {
		h.Add(began.Add(time.Duration(i)*Step), sampleOf(i))
	}
	last := began.Add((Length + 39) * Step)
	hour := h.Hour(last)
	found := known(hour.Memory)
	if len(found) != Length || found[0] != 40 || found[Length-1] != Length+39 || *hour.CPU[0] != 40 || *hour.Commands[Length-1] != Length+39 {
		t.Errorf("%d values, from %d to %d", len(found), found[0], found[Length-1])
	}
	if hour.Step != 10 || hour.End != last.Truncate(Step).Add(Step).Unix() {
		t.Errorf("step %d, end %d", hour.Step, hour.End)
	}
	// An hour later all of it is forgotten, though nothing came since.
	if left := known(h.Hour(last.Add(time.Hour)).Memory); len(left) != 0 {
		t.Errorf("after another hour: %v", left)
	}
}

func TestWhatNobodySampledIsNotKnown(t *testing.T) {
	var h History
	at := time.Unix(1_700_000_005, 0)
	h.Add(at, sampleOf(1))
	h.Add(at.Add(3*Step), sampleOf(4))
	found := known(h.Hour(at.Add(3 * Step)).Memory)
	if len(found) != 2 || found[Length-4] != 1 || found[Length-1] != 4 {
		t.Errorf("%v", found)
	}
	// The step that has just begun is not a gap.
	if found := known(h.Hour(at.Add(4 * Step)).Memory); found[Length-1] != 4 || found[Length-4] != 1 {
		t.Errorf("while the next step lasts: %v", found)
	}
	h.Add(at.Add(-2*time.Hour), sampleOf(9)) // by a clock that was set back
	if found := known(h.Hour(at.Add(3 * Step)).Memory); len(found) != 2 {
		t.Errorf("with one of the past: %v", found)
	}
}

func TestSamplesMeetEveryStep(t *testing.T) {
	now := time.Unix(1_700_000_009, 999)
	for range 5 {
		before := now.Truncate(Step)
		now = now.Add(Next(now))
		if next := now.Truncate(Step); next.Sub(before) != Step || now.Sub(next) != Step/2 {
			t.Errorf("from %v to %v", before, now)
		}
	}
}

func TestAMeterTellsWhatWasUsedSince(t *testing.T) {
	var m Meter
	at := time.Unix(1_700_000_000, 0)
	box := func(cpu time.Duration, finished int64) Source {
		return Source{Key: "box", Began: at.Add(-time.Hour), CPU: cpu, Memory: 100, Finished: finished}
	}
	first := m.Read(at, 2, []Source{box(time.Minute, 50)})
	if first.CPU != nil || first.Commands != nil || *first.Memory != 100 {
		t.Errorf("the first reading says what it cannot know: %+v", first)
	}
	for _, c := range []struct {
		what     string
		sources  []Source
		cpu      float64
		commands int64
	}{
		{"half of two processors", []Source{box(time.Minute+10*time.Second, 53)}, 50, 3},
		{"one that is new", []Source{box(time.Minute+10*time.Second, 53), {Key: "new", Began: at.Add(15 * time.Second), CPU: time.Second, Finished: 2}}, 5, 2},
		{"one that was there and could not be asked", []Source{box(time.Minute+10*time.Second, 53), {Key: "old", Began: at.Add(-time.Hour), CPU: time.Hour, Finished: 900}}, 0, 0},
		{"one that began anew", []Source{box(2*time.Second, 4)}, 10, 4},
		{"one that has gone", nil, 0, 0},
		{"a process, which has no commands", []Source{{Key: "p", Began: at.Add(59 * time.Second), CPU: time.Minute, Finished: -1}}, 100, 0},
	} {
		at = at.Add(10 * time.Second)
		s := m.Read(at, 2, c.sources)
		if s.CPU == nil || s.Commands == nil || *s.CPU != c.cpu || *s.Commands != c.commands {
			t.Errorf("%s: %v %% and %v commands, want %v and %v", c.what, *s.CPU, *s.Commands, c.cpu, c.commands)
		}
	}
}
