package house

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"hermes.example/hermes/internal/dashboard/history"
)

func (h *House) overview(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, h.sight.now())
}

func (h *House) profiles(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, profilesOf(h.sight.services.now(), h.sight.sandboxes.now()))
}

func (h *House) sandboxes(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, h.sight.sandboxes.now().boxes)
}

// events sends the overview at once, and then when it has changed.
func (h *House) events(w http.ResponseWriter, r *http.Request) error {
	if !h.bounds.watchers.Take() {
		return errTooManyWatchers
	}
	defer h.bounds.watchers.Give()
	defer h.crowd.join()()
	newest, err := h.crowd.current()
	if err != nil {
		return err
	}
	s := newStream(w)
	defer s.end()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for err := s.send(newest.text); err == nil; {
		select {
		case <-newest.next:
			if newest, err = h.crowd.current(); err == nil {
				err = s.send(newest.text)
			}
		case <-beat.C:
			err = s.beat()
		case <-r.Context().Done():
			return nil
		case <-h.draining:
			return nil
		}
	}
	return nil // who does not read is gone
}

func (h *House) lastHour(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, h.history.Hour(time.Now()))
}

// sample reads what the home uses now: the services with all that they started, this process, and the sandboxes. One
// that cannot be asked is left out.
func (h *House) sample(m *history.Meter) history.Sample {
	roots := []int{os.Getpid()}
	for _, s := range h.sight.services.fresh().services {
		if s.PID > 0 {
			roots = append(roots, s.PID)
		}
	}
	sources := history.Processes(roots)
	for _, b := range h.sight.sandboxes.fresh().boxes {
		if b.Usage != nil {
			sources = append(sources, history.Source{Key: fmt.Sprintf("sandbox %s %q %q", b.Engine, b.Profile, b.Task), Began: b.Created,
				CPU: b.Usage.CPU, Memory: b.Usage.Memory, Finished: b.Usage.Finished})
		}
	}
	return m.Read(time.Now(), runtime.NumCPU(), sources)
}
