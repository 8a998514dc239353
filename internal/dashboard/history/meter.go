package history

import "time"

// Source is something that has used what it says since it began: a process, a sandbox.
type Source struct {
	// Key is its alone, also after it has ended.
	Key string
	// Began is when its counters were zero.
	Began time.Time
	CPU   time.Duration
	// Memory is what it has now.
	Memory int64
	// Finished is how many commands of it have ended; negative where there are none to count.
	Finished int64
}

// Meter makes samples of readings: what sources have used since the one before. Its zero value has read nothing.
type Meter struct {
	before map[string]Source
	at     time.Time
}

// Read makes a sample of all sources that there are. The first reading has nothing to compare with: how much memory there
// is can be told, and no more. What began and ended between two readings is not seen.
func (m *Meter) Read(at time.Time, processors int, sources []Source) Sample {
	now := make(map[string]Source, len(sources))
	var memory, finished int64
	var spent time.Duration
	for _, s := range sources {
		now[s.Key] = s
		memory += s.Memory
		before, known := m.before[s.Key]
		switch {
		case known && before.CPU <= s.CPU && before.Finished <= s.Finished:
		case known, s.Began.After(m.at): // it began since, or began anew
			before = Source{}
		default: // it was there and could not be read
			before = s
		}
		spent += s.CPU - before.CPU
		if s.Finished >= 0 {
			finished += s.Finished - max(0, before.Finished)
		}
	}
	sample := Sample{Memory: &memory}
	if took := at.Sub(m.at); m.before != nil && took > 0 {
		percent := min(100, 100*float64(spent)/float64(took)/float64(processors))
		sample.CPU, sample.Commands = &percent, &finished
	}
	m.before, m.at = now, at
	return sample
}
