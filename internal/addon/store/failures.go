package store

import (
	"maps"
	"time"
)

// Failure is an install that failed a short while ago, and is not tried again at every use meanwhile.
type Failure struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"`
}

// longestMemory bounds how long a failure is remembered, whatever its file says.
const longestMemory = 24 * time.Hour

// longestReason is how many bytes of it are kept: its last ones.
const longestReason = 4000

// fresh says whether a failure still counts. One from the future does not: a clock that was wrong once would keep a
// feature away until that day.
func (f Failure) fresh(now time.Time) bool {
	return !now.Before(f.At) && now.Before(f.Until) && now.Sub(f.At) < longestMemory
}

// failed is failures.json.
type failed struct {
	Version  int                `json:"version"`
	Features map[string]Failure `json:"features"`
}

// Failure says whether the install of a feature failed a short while ago.
func (s *Store) Failure(feature string) (Failure, bool) {
	f, ok := s.failed()[feature]
	return f, ok
}

// failed are the failures that count. A file that cannot be read holds none: all that is lost is an attempt.
func (s *Store) failed() map[string]Failure {
	var all failed
	if load(s.failures(), &all) != nil {
		return nil
	}
	now := s.o.Now()
	maps.DeleteFunc(all.Features, func(_ string, f Failure) bool { return !f.fresh(now) })
	return all.Features
}

// Remember writes down that the install of a feature failed, for so long.
func (w *Writer) Remember(feature, reason string, lasting time.Duration) error {
	all := maps.Clone(w.failed())
	if all == nil {
		all = make(map[string]Failure)
	}
	now := w.o.Now().UTC()
	all[feature] = Failure{reason[max(0, len(reason)-longestReason):], now, now.Add(min(lasting, longestMemory))}
	return w.save(w.failures(), failed{1, all})
}

// Forget makes the next use try again.
func (w *Writer) Forget(features ...string) error {
	all := w.failed()
	count := len(all)
	for _, name := range features {
		delete(all, name)
	}
	if len(all) == count {
		return nil
	}
	return w.save(w.failures(), failed{1, all})
}
