package house

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/internal/wording"
)

// badRequest is a request that cannot be meant.
type badRequest struct{ message string }

func (e *badRequest) Error() string { return e.message }

var (
	errNowhere = errors.New("there is no such thing here")
	errUnknown = errors.New("how the services are is not known")
)

// statuses are how errors are answered; all others are faults of ours.
var statuses = []struct {
	err    error
	status int
}{
	{errNowhere, http.StatusNotFound},
	{supervise.ErrNotRegistered, http.StatusNotFound},
	{profile.ErrNotFound, http.StatusNotFound},
	{control.ErrForbidden, http.StatusForbidden},
	{errTooManyReaders, http.StatusTooManyRequests},
	{errTooManyWatchers, http.StatusTooManyRequests},
	{errTooOften, http.StatusTooManyRequests},
	{errFull, http.StatusServiceUnavailable},
	{survey.ErrNoSupervisor, http.StatusServiceUnavailable},
	{control.ErrUnreachable, http.StatusServiceUnavailable},
	{control.ErrHungUp, http.StatusServiceUnavailable},
	{supervise.ErrClosed, http.StatusServiceUnavailable},
	{errEnding, http.StatusServiceUnavailable},
	{errUnknown, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
}

// refuse answers with an error, in one line.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if bad := (*badRequest)(nil); errors.As(err, &bad) {
		status = http.StatusBadRequest
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			status = s.status
			break
		}
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, status, map[string]string{"error": wording.OneLine(err.Error())})
}

func answer(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // who does not take it is gone
	return nil
}

func nowhere(http.ResponseWriter, *http.Request) error { return errNowhere }
