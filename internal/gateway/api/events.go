package api

import (
	"context"
	"net/http"
	"strconv"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// readEvents answers with what happened to background processes, or follows what happens to them.
func (a *API) readEvents(w http.ResponseWriter, r *http.Request) error {
	q := &query{r: r}
	since := q.Text("since")
	if last := r.Header.Get("Last-Event-ID"); last != "" && wantsEvents(r) {
		since = last
	}
	if q.err != nil {
		return q.err
	}
	var number uint64
	if since != "" {
		var err error
		if number, err = strconv.ParseUint(since, 10, 64); err != nil {
			return bad("since and Last-Event-ID must be the number of an event, and not " + quote(since))
		}
	}
	lasts(w)
	return a.look(r.Context(), r.PathValue("task"), func(box *sandbox.Sandbox) error {
		past, err := box.PastEvents(r.Context(), number)
		if err != nil {
			return err
		}
		if !wantsEvents(r) {
			return answer(w, http.StatusOK, client.EventList{Events: append([]sandbox.Event{}, past...)})
		}
		return a.follow(w, r, func(ctx context.Context, s *eventStream) error {
			for happened, err := range box.Events(ctx, number) {
				if err != nil {
					return err
				}
				if err := s.send(client.EventHappened, strconv.FormatUint(happened.Number, 10), happened); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
