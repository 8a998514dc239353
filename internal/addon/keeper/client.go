package keeper

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/rundir"
)

// patience is how long a keeper may take to say that it listens. A machine under load must not lose its warm backends
// for a pause, and a keeper that was stopped must not hold up everybody.
const patience = 5 * time.Second

// tries bound how often a keeper is started for one call: one that ends at its start would do so for ever.
const tries = 3

// Call has a tool called by the keeper, which is started if none runs. An *UnreachableError means that the call was
// not made; after any other error it may have been.
func (k Keeper) Call(ctx context.Context, feature, tool string, arguments json.RawMessage, variables map[string]string) (backend.Result, error) {
	a, err := k.ask(ctx, callPath, request{feature, tool, arguments, variables})
	if err != nil {
		return backend.Result{}, err
	}
	if a.Result == nil {
		return backend.Result{}, errors.New("cannot understand the keeper of backends: its answer is empty")
	}
	return *a.Result, nil
}

// Tools asks a backend for its tools, as Call does.
func (k Keeper) Tools(ctx context.Context, feature string, variables map[string]string) ([]backend.Tool, error) {
	a, err := k.ask(ctx, toolsPath, request{Feature: feature, Variables: variables})
	return a.Tools, err
}

func (k Keeper) ask(ctx context.Context, path string, r request) (answer, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return answer{}, fmt.Errorf("cannot ask for %s of %s: %w", r.Tool, r.Feature, err)
	}
	if len(body) > largestRequest {
		return answer{}, fmt.Errorf("cannot ask for %s of %s: the arguments have more than %d bytes", r.Tool, r.Feature, largestRequest)
	}
	socket, err := k.socket(rundir.Find)
	if err != nil {
		return answer{}, unreachable(ctx, err)
	}
	for attempt := 0; ; attempt++ {
		a, heard, err := k.post(ctx, socket, path, body)
		switch {
		case ctx.Err() != nil:
			return answer{}, ctx.Err()
		case err == nil && a.Failure != nil:
			return answer{}, a.Failure.err()
		case err == nil:
			return a, nil
		case heard:
			return answer{}, ended(r.Feature, err)
		case attempt == tries || errors.Is(err, errSilent):
			return answer{}, unreachable(ctx, err)
		case errors.Is(err, errOtherBuild):
			err = k.leave(ctx, socket)
		case isNobody(err):
			err = k.start(ctx, socket)
		default:
			err = nil // it ended: next time nobody is there
		}
		if err != nil {
			return answer{}, unreachable(ctx, err)
		}
	}
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &UnreachableError{err}
}

// ended is for a keeper that was gone before it answered.
func ended(feature string, err error) error {
	known := unavailable.Because(unavailable.Backend, fmt.Errorf("the process that keeps it warm ended during the call (%w)", err), "try again")
	return known.For(feature, nil)
}

var (
	errOtherBuild = errors.New("another build of hermes keeps backends warm here")
	errSilent     = errors.New("the keeper of backends does not answer")
)

// post sends a request to whoever listens. Heard says that the keeper has taken it: before that nothing was done, and
// it can be sent again. HTTP has a word for this: the body, which has the secrets, is sent when it is asked for.
func (k Keeper) post(ctx context.Context, socket, path string, body []byte) (a answer, heard bool, err error) {
	var taken atomic.Bool
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	waiting := time.AfterFunc(cmp.Or(k.patience, patience), func() { giveUp(errSilent) })
	defer waiting.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() {
		taken.Store(true)
		waiting.Stop()
	}})
	query, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://keeper"+path, bytes.NewReader(body))
	if err != nil {
		return a, false, err
	}
	query.Header.Set("Expect", "100-continue")
	query.Header.Set(buildHeader, k.Build)
	query.Header.Set("Content-Type", "application/json")
	response, err := through(socket).Do(query)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return a, taken.Load(), bare(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusConflict:
		return a, false, errOtherBuild
	case response.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return a, taken.Load(), fmt.Errorf("it says %s: %s", response.Status, bytes.TrimSpace(text))
	}
	err = json.NewDecoder(io.LimitReader(response.Body, largestAnswer)).Decode(&a)
	return a, true, err
}

// bare is an error without the words of HTTP around it: the address in them is nobody's.
func bare(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

// through is a client of one socket, for one request: what is kept open would keep a keeper from leaving.
func through(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, DisableCompression: true,
		ExpectContinueTimeout: 24 * time.Hour, // post has a bound of its own, after which nothing is sent
	}}
}

// Status asks the keeper how it is. None is started: without one it is nil.
func (k Keeper) Status(ctx context.Context) (*Status, error) {
	socket, err := k.running()
	if err != nil {
		return nil, nil
	}
	var s Status
	err = k.short(ctx, http.MethodGet, socket, statusPath, &s)
	if isNobody(err) {
		return nil, nil
	}
	return &s, err
}

// leave asks a keeper to give way. When it has answered, another one can be started; it finishes what it has begun.
func (k Keeper) leave(ctx context.Context, socket string) error {
	err := k.short(ctx, http.MethodPost, socket, leavePath, nil)
	if isNobody(err) {
		return nil
	}
	return err
}

// short asks for what is known at once.
func (k Keeper) short(ctx context.Context, method, socket, path string, to any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	query, err := http.NewRequestWithContext(ctx, method, "http://keeper"+path, nil)
	if err != nil {
		return err
	}
	query.Header.Set(buildHeader, k.Build)
	response, err := through(socket).Do(query)
	if err != nil {
		return fmt.Errorf("cannot ask the keeper of backends: %w", bare(err))
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("cannot ask the keeper of backends: it says %s", response.Status)
	}
	if to == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, largestRequest)).Decode(to); err != nil {
		return fmt.Errorf("cannot understand the keeper of backends: %w", err)
	}
	return nil
}
