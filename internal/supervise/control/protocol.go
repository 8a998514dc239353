package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// The version of what is spoken. Another minor version adds; another major version is another language.
const (
	versionHeader = "Hermes-Control"
	version       = "1"
)

// LongestWait bounds how long a request may ask the server to wait.
const LongestWait = 5 * time.Minute

// Error is an error as it travels. One that the other side can act on is that error again there.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Unwrap is the error that the code stands for.
func (e *Error) Unwrap() error {
	for _, k := range kinds {
		if k.code == e.Code {
			return k.err
		}
	}
	return nil
}

// ErrForbidden is for a caller who is neither root, nor the service user, nor the supervisor's own.
var ErrForbidden = errors.New("the supervisor does not take orders from this user; ask as root or as the service user")

// errBad is a request that cannot be meant.
var errBad = errors.New("bad request")

// kinds are the errors that keep their identity, with their code and the status of the answer.
var kinds = []struct {
	err    error
	code   string
	status int
}{
	{supervise.ErrNotRegistered, "not_registered", http.StatusNotFound},
	{supervise.ErrRegistered, "registered", http.StatusConflict},
	{supervise.ErrClosed, "closed", http.StatusServiceUnavailable},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout},
	{ErrForbidden, "forbidden", http.StatusForbidden},
	{errBad, "bad_request", http.StatusBadRequest},
}

// failure is what an answer that is an error says.
type failure struct {
	Error *Error `json:"error"`
}

// encode is an error as an answer.
func encode(err error) (status int, body failure) {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status, failure{&Error{k.code, err.Error()}}
		}
	}
	return http.StatusInternalServerError, failure{&Error{"internal", err.Error()}}
}

// decode is the error in an answer. What does not speak our language is quoted, briefly.
func decode(status string, body []byte) error {
	var f failure
	if err := json.Unmarshal(body, &f); err == nil && f.Error != nil && f.Error.Message != "" {
		return f.Error
	}
	const enough = 200
	return &Error{Code: "internal", Message: "the supervisor answers " + status + ": " + string(body[:min(len(body), enough)])}
}

// registration is the body of a PUT of a gateway.
type registration struct {
	Start bool `json:"start"`
}
