package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// ErrUnreachable is for a machine on which no supervisor answers.
var ErrUnreachable = errors.New("no supervisor answers")

// ErrHungUp is for a supervisor that was there and did not answer to the end: it ends, or is started again.
var ErrHungUp = errors.New("it hung up; ask again in a moment")

// endTime is how long the end of a service may take, with its grace and the kill.
const endTime = 30 * time.Second

// callTime bounds a call that is not to wait.
const callTime = 15 * time.Second

// largest is far above what any answer says, a log apart.
const largest = 16 << 20

// Client speaks to a supervisor. Its life: Dial, any number of calls from any goroutine, Close. It has all of
// Operations, and each call is bounded even if its context is not.
type Client struct {
	path string
	http *http.Client
}

// Dial makes a client. Nothing is connected before the first call.
func Dial(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: callTime}).DialContext(ctx, "unix", path)
	}
	return &Client{path, &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConns: 1}}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Services lists all services.
func (c *Client) Services(ctx context.Context) ([]supervise.Status, error) {
	var all struct {
		Services []supervise.Status `json:"services"`
	}
	err := c.call(ctx, callTime, "GET", "/v1/services", nil, &all)
	return all.Services, err
}

// Service is what is known of one.
func (c *Client) Service(ctx context.Context, name string) (st supervise.Status, err error) {
	err = c.call(ctx, callTime, "GET", "/v1/services/"+segment(name), nil, &st)
	return st, err
}

// Start wants a service up.
func (c *Client) Start(ctx context.Context, name string) error {
	return c.change(ctx, name, "start")
}

// Stop wants a service down.
func (c *Client) Stop(ctx context.Context, name string) error { return c.change(ctx, name, "stop") }

// Restart ends what runs and wants the service up.
func (c *Client) Restart(ctx context.Context, name string) error {
	return c.change(ctx, name, "restart")
}

func (c *Client) change(ctx context.Context, name, what string) error {
	return c.call(ctx, callTime, "POST", "/v1/services/"+segment(name)+"/"+what, nil, nil)
}

// Wait returns when the service is as it is wanted.
func (c *Client) Wait(ctx context.Context, name string) (supervise.Status, error) {
	const look = 100 * time.Millisecond
	for {
		st, err := c.Service(ctx, name)
		if err != nil || st.Settled() {
			return st, err
		}
		select {
		case <-ctx.Done():
			return st, fmt.Errorf("cannot wait for service %q any longer, it is %s: %w", name, st.State, ctx.Err())
		case <-time.After(look):
		}
	}
}

// segment is a name as a part of a path; dots alone would be other parts of it.
func segment(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }

// Register makes the gateway of a profile known.
func (c *Client) Register(ctx context.Context, profile string, start bool) error {
	return c.call(ctx, callTime, "PUT", "/v1/gateways/"+segment(profile), registration{start}, nil)
}

// Unregister ends and forgets it.
func (c *Client) Unregister(ctx context.Context, profile string) error {
	return c.call(ctx, endTime, "DELETE", "/v1/gateways/"+segment(profile), nil, nil)
}

// Health is whether all is as it is wanted.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h struct {
		Health
		failure
	}
	// A machine that is not well says so with a status of its own.
	err := c.call(ctx, callTime, "GET", "/v1/health", nil, &h, http.StatusServiceUnavailable)
	if err == nil && h.Error != nil {
		err = h.Error
	}
	return h.Health, err
}

// Log is what the service said. To follow it is bounded by ctx alone.
func (c *Client) Log(ctx context.Context, name string, lines int, follow bool) (io.ReadCloser, error) {
	query := url.Values{"lines": {strconv.Itoa(lines)}, "follow": {strconv.FormatBool(follow)}}
	answer, err := c.send(ctx, "GET", "/v1/services/"+segment(name)+"/log?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, c.refusal(answer)
	}
	return answer.Body, nil
}

// call asks for something and reads the answer, if there is to be one. Some statuses are answers too.
func (c *Client) call(ctx context.Context, within time.Duration, method, path string, body, result any, answers ...int) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	answer, err := c.send(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 && !slices.Contains(answers, answer.StatusCode) {
		return c.refusal(answer)
	}
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, largest)).Decode(result); err != nil {
		return fmt.Errorf("cannot understand the supervisor at %s: %w", c.path, hungUp(err))
	}
	return nil
}

// send asks, and checks that who answers speaks our language.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		var call *net.OpError
		if errors.As(err, &call) && call.Op == "dial" || errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot reach the supervisor at %s: %w: %w", c.path, ErrUnreachable, errors.Unwrap(err))
		}
		return nil, fmt.Errorf("cannot ask the supervisor at %s: %w", c.path, hungUp(errors.Unwrap(err)))
	}
	if spoken := answer.Header.Get(versionHeader); spoken != version {
		answer.Body.Close()
		return nil, fmt.Errorf("cannot speak to the supervisor at %s: it speaks version %q and this is %q; restart the container to make them one", c.path, spoken, version)
	}
	return answer, nil
}

// hungUp is ErrHungUp for an error that says that the other side closed the connection, in order or not, and else the same.
func hungUp(err error) error {
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return ErrHungUp
		}
	}
	if strings.HasSuffix(err.Error(), closedBefore) {
		return ErrHungUp
	}
	return err
}

// closedBefore is how net/http calls it when a connection was closed before anything was asked over it; the error itself
// it keeps to itself.
const closedBefore = "server closed idle connection"

func (c *Client) refusal(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot understand the supervisor at %s: %w", c.path, hungUp(err))
	}
	return decode(answer.Status, text)
}
