package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/sandbox"
)

// Error is what a gateway did not do. [errors.Is] holds it against the errors of package sandbox and of io/fs that it
// was made of.
type Error struct {
	Problem
	// RetryAfter is when it is of use to ask again, where the gateway says so.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Detail }

// meanings are the errors that a code stands for.
var meanings = []struct {
	code Code
	err  error
}{
	{CodeNotFound, sandbox.ErrNotFound},
	{CodeExists, sandbox.ErrExists},
	{CodeGone, sandbox.ErrGone},
	{CodeTooLarge, sandbox.ErrTooLarge},
	{CodeUnprocessable, sandbox.ErrRefused},
	{CodeKeyReused, sandbox.ErrIDReused},
	{CodeNotFound, sandbox.ErrNoCommand},
	{CodeNoProcess, sandbox.ErrNoProcess},
	{CodeNoFile, fs.ErrNotExist},
	{CodeExists, fs.ErrExist},
	{CodeForbidden, fs.ErrPermission},
	{CodeUnsupported, errors.ErrUnsupported},
}

// Is says whether the gateway failed by target.
func (e *Error) Is(target error) bool {
	for _, m := range meanings {
		if m.code == e.Code && m.err == target {
			return true
		}
	}
	return false
}

// readError makes an error of an answer that is none. What is no problem document has come from somebody in between.
func readError(answer *http.Response) error {
	e := &Error{}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if json.Unmarshal(text, &e.Problem) != nil || e.Detail == "" {
		e.Problem = Problem{Title: http.StatusText(answer.StatusCode), Detail: fmt.Sprintf("the gateway answered %s", strings.TrimSpace(answer.Status))}
	}
	e.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// temporary says whether the same request may be answered by and by: the gateway could not be reached, was cut off, or
// has no room.
func temporary(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests || e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout
	}
	return err != nil
}
