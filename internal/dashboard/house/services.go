package house

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

// settleBound is how long an answer waits for a service to be as it was asked to be.
const settleBound = 10 * time.Second

// verbs are what can be asked of a service.
var verbs = map[string]func(control.Operations, context.Context, string) error{
	"start": control.Operations.Start, "stop": control.Operations.Stop, "restart": control.Operations.Restart,
}

func (h *House) services(w http.ResponseWriter, _ *http.Request) error {
	seen := h.sight.services.now()
	if seen.problem != "" {
		return fmt.Errorf("%w: %s", errUnknown, seen.problem)
	}
	return answer(w, http.StatusOK, seen.services)
}

// supervised is Options.Services, where there may be none.
func (h *House) supervised(ctx context.Context, do func(control.Operations) error) error {
	if h.Services == nil {
		return survey.ErrNoSupervisor
	}
	err := h.Services(ctx, do)
	if errors.Is(err, control.ErrUnreachable) || errors.Is(err, supervise.ErrClosed) { // it may be about to be started again
		return fmt.Errorf("%w; ask again in a moment", err)
	}
	return err
}

// change asks something of a service and answers how it is when it has settled, or as it is when that takes long: what is
// asked of this dashboard itself is answered before it ends.
func (h *House) change(w http.ResponseWriter, r *http.Request) error {
	name, verb := r.PathValue("name"), r.PathValue("verb")
	do, known := verbs[verb]
	if !known {
		return errNowhere
	}
	ctx, cancel := context.WithTimeout(r.Context(), settleBound)
	defer cancel()
	return h.supervised(ctx, func(o control.Operations) error {
		if err := do(o, ctx, name); err != nil {
			return fmt.Errorf("cannot %s %q: %w", verb, name, err)
		}
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		defer h.whenDraining(stop)()
		status, err := o.Wait(waiting, name)
		if waiting.Err() != nil && r.Context().Err() == nil {
			look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookBound)
			defer cancel()
			status, err = o.Service(look, name)
		}
		if err != nil {
			return fmt.Errorf("cannot see what became of %q: %w", name, err)
		}
		return answer(w, http.StatusOK, survey.ServiceOf(status, time.Now()))
	})
}

// whenDraining calls do when the house begins to end, unless the returned function was called before.
func (h *House) whenDraining(do func()) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-h.draining:
			do()
		case <-ended:
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
