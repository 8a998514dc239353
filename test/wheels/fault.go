package wheels

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is how a request fails. The zero value is no fault.
type Fault struct {
	Delay  time.Duration // the answer comes that much later
	Silent bool          // no answer ever comes
	Status int           // this instead of the content
	Cut    bool          // half of the content, then the connection ends
	Wrong  bool          // other content than the page says
	Times  int           // how often; 0: always
}

// Break makes requests for a file, or for the page of a project, fail from now on; the name "*" stands for all that
// have no fault of their own. A Fault without anything mends it.
func (x *Index) Break(name string, f Fault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults[name] = f
}

// take returns the fault of a request, and counts it. The lock is held.
func (x *Index) take(name string) Fault {
	f, own := x.faults[name]
	if !own {
		name = "*"
		f = x.faults[name]
	}
	if f.Times == 1 {
		delete(x.faults, name)
	} else if f.Times > 1 {
		f.Times--
		x.faults[name] = f
	}
	return f
}

// wait holds an answer back. False: there is nobody left to answer, or there is not to be an answer.
func (x *Index) wait(r *http.Request, f Fault) bool {
	var late <-chan time.Time
	switch {
	case f.Silent:
	case f.Delay > 0:
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		late = timer.C
	default:
		return true
	}
	select {
	case <-late:
		return true
	case <-r.Context().Done():
	case <-x.closing:
	}
	return false
}

// spoilt writes half of the content, if that is the fault.
func spoilt(w http.ResponseWriter, f Fault, content []byte) bool {
	if !f.Cut {
		return false
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if _, err := w.Write(content[:len(content)/2]); err == nil {
		_ = http.NewResponseController(w).Flush()
	}
	return true
}
