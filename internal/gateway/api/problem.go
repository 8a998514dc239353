package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/addon/choice"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/sandbox"
)

type code = client.Code

// kind is what all problems of a code have in common.
type kind struct {
	status int
	title  string
}

// kinds is the one table of what can go wrong.
var kinds = map[code]kind{
	client.CodeBadRequest:    {http.StatusBadRequest, "the request cannot be understood"},
	client.CodeUnauthorized:  {http.StatusUnauthorized, "the key is missing or wrong"},
	client.CodeForeignOrigin: {http.StatusForbidden, "a page of another origin made this request"},
	client.CodeForbidden:     {http.StatusForbidden, "it is not allowed"},
	client.CodeNotFound:      {http.StatusNotFound, "there is no such thing"},
	client.CodeNoFile:        {http.StatusNotFound, "there is no such file"},
	client.CodeNoProcess:     {http.StatusNotFound, "there is no such process"},
	client.CodeNoSuchRoute:   {http.StatusNotFound, "there is no such route"},
	client.CodeWrongMethod:   {http.StatusMethodNotAllowed, "the route has no such method"},
	client.CodeNotAcceptable: {http.StatusNotAcceptable, "it cannot be answered in that form"},
	client.CodeExists:        {http.StatusConflict, "it exists already"},
	client.CodeBusy:          {http.StatusConflict, "it is in use"},
	client.CodeDrift:         {http.StatusConflict, "it exists with another specification"},
	client.CodeKeyReused:     {http.StatusConflict, "the key was used for another request"},
	client.CodeUpgrade:       {http.StatusUpgradeRequired, "this route is a WebSocket"},
	client.CodeGone:          {http.StatusConflict, "it has ended meanwhile"},
	client.CodeTooLarge:      {http.StatusRequestEntityTooLarge, "it is too large"},
	client.CodeBadRange:      {http.StatusRequestedRangeNotSatisfiable, "the file has no such range"},
	client.CodeMediaType:     {http.StatusUnsupportedMediaType, "the body is of the wrong kind"},
	client.CodeForeignHost:   {http.StatusMisdirectedRequest, "this gateway does not go by that name"},
	client.CodeUnprocessable: {http.StatusUnprocessableEntity, "it is understood, and cannot be done"},
	client.CodePosture:       {http.StatusUnprocessableEntity, "what was demanded cannot be enforced here"},
	client.CodeTooMany:       {http.StatusTooManyRequests, "too many requests"},
	client.CodeInternal:      {http.StatusInternalServerError, "it failed"},
	client.CodeUnsupported:   {http.StatusNotImplemented, "the engine cannot do it"},
	client.CodeOverloaded:    {http.StatusServiceUnavailable, "too many requests at a time"},
	client.CodeDraining:      {http.StatusServiceUnavailable, "the gateway is ending"},
	client.CodeUnavailable:   {http.StatusServiceUnavailable, "it is not available"},
	client.CodeTimeout:       {http.StatusGatewayTimeout, "it took too long"},
}

// Problem makes a problem of a code, with one line for people.
func Problem(c client.Code, detail string) *client.Problem {
	k := kinds[c]
	return &client.Problem{Type: "urn:hermes:problem:" + string(c), Title: k.title, Status: k.status, Detail: oneLine(detail), Code: c}
}

func bad(detail string) error { return Problem(client.CodeBadRequest, detail) }

// unprocessable is an error of what was asked for, and not of Hermes.
func unprocessable(err error) error {
	if err == nil {
		return nil
	}
	if known := problemOf(err); known.Code != client.CodeInternal {
		return known
	}
	return Problem(client.CodeUnprocessable, err.Error())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// sentinels are errors that stand for a code by themselves.
var sentinels = []struct {
	err  error
	code code
}{
	{sandbox.ErrIDReused, client.CodeKeyReused},
	{sandbox.ErrNotFound, client.CodeNotFound},
	{sandbox.ErrNoCommand, client.CodeNotFound},
	{sandbox.ErrNoProcess, client.CodeNoProcess},
	{sandbox.ErrRefused, client.CodeUnprocessable},
	{unavailable.Unknown, client.CodeNotFound},
	{sandbox.ErrExists, client.CodeExists},
	{sandbox.ErrTooLarge, client.CodeTooLarge},
	{sandbox.ErrGone, client.CodeGone},
	{sandbox.ErrClosed, client.CodeDraining},
	{errors.ErrUnsupported, client.CodeUnsupported},
	{fs.ErrNotExist, client.CodeNoFile},
	{fs.ErrExist, client.CodeExists},
	{fs.ErrPermission, client.CodeForbidden},
	{context.DeadlineExceeded, client.CodeTimeout},
}

// problemOf is the one map from errors of Go to problems.
func problemOf(err error) *client.Problem {
	var problem *client.Problem
	var tooLarge *http.MaxBytesError
	detail := err.Error()
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &tooLarge):
		return Problem(client.CodeTooLarge, "cannot take this body: it is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	case is[*sandbox.DriftError](err):
		return Problem(client.CodeDrift, detail)
	case is[*sandbox.BusyError](err):
		return Problem(client.CodeBusy, detail)
	case is[*sandbox.NotStartedError](err):
		return Problem(client.CodeUnprocessable, detail)
	case is[*sandbox.PostureError](err):
		return Problem(client.CodePosture, detail)
	case is[*choice.UnknownError](err):
		return Problem(client.CodeNotFound, detail)
	case is[*unavailable.Error](err) && !errors.Is(err, unavailable.Unknown):
		return Problem(client.CodeUnavailable, detail)
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return Problem(s.code, detail)
		}
	}
	return Problem(client.CodeInternal, detail)
}

func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// retryAfter is how long who was refused for lack of room is told to wait.
const retryAfter = time.Second

// Refuse answers with a problem.
func Refuse(w http.ResponseWriter, p *client.Problem) {
	h := w.Header()
	if (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	write(w, p.Status, mediaProblem, p)
}

// answer answers with JSON.
func answer(w http.ResponseWriter, status int, body any) error {
	write(w, status, mediaJSON, body)
	return nil
}

// write sends JSON in one piece. Who does not take it is gone.
func write(w http.ResponseWriter, status int, media string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, media = http.StatusInternalServerError, mediaProblem
		text, _ = json.Marshal(Problem(client.CodeInternal, "cannot write the answer: "+err.Error()))
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}
