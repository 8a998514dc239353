package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options of a client.
type Options struct {
	// HTTP makes the requests; nil means one with its own connections. Its Timeout must be zero, because streams last.
	HTTP *http.Client
	// Patience is how long a broken stream is tried again before it is given up; zero means a minute.
	Patience time.Duration
}

// Client speaks to one gateway. It is safe for concurrent use, and nothing of it has to be closed.
type Client struct {
	base     *url.URL
	key      string
	http     *http.Client
	patience time.Duration
}

const defaultPatience = time.Minute

// New returns a client of the gateway at a base address, as in http://127.0.0.1:8642. It asks nothing yet.
func New(base, key string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot use %q as the address of a gateway: %w", base, errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("cannot use %q as the address of a gateway: give one as in http://127.0.0.1:8642", base)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("cannot use an address with a user, a query or a fragment for a gateway: give one as in http://127.0.0.1:8642")
	case strings.ContainsAny(key, "\r\n\x00"):
		return nil, errors.New("cannot use a key that has a line break in it: look at where it was read from")
	}
	c := &Client{base: u, key: key, patience: o.Patience}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	transport := http.DefaultTransport
	if o.HTTP != nil {
		if o.HTTP.Timeout != 0 {
			return nil, errors.New("cannot use an HTTP client with a timeout: it would cut streams off; give requests a context instead")
		}
		if o.HTTP.Transport != nil {
			transport = o.HTTP.Transport
		}
	}
	// A gateway redirects nowhere, and the key is for nobody else.
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// call is one request.
type call struct {
	method string
	// path is the segments of the route, as they are before they are encoded.
	path   []string
	query  url.Values
	header http.Header
	// body is sent as it is; json as what it encodes to.
	body io.Reader
	json any
	// accept is what the answer is to be; empty means JSON.
	accept string
}

// url is the whole address of a call.
func (c *Client) url(k call) *url.URL {
	u := *c.base
	plain, escaped := strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	for _, segment := range k.path {
		plain += "/" + segment
		escaped += "/" + escape(segment)
	}
	u.Path, u.RawPath, u.RawQuery = plain, escaped, k.query.Encode()
	return &u
}

// escape makes one segment of a path of any text. Dots alone would be taken for a way.
func escape(segment string) string {
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}

// send makes a call and returns the answer if it says that it was done. Its body is the caller's to close.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	body := k.body
	if k.json != nil {
		text, err := json.Marshal(k.json)
		if err != nil {
			return nil, fmt.Errorf("cannot encode the request: %w", err)
		}
		body = strings.NewReader(string(text))
	}
	q, err := http.NewRequestWithContext(ctx, k.method, c.url(k).String(), body)
	if err != nil {
		return nil, fmt.Errorf("cannot make the request: %w", err)
	}
	if k.header != nil {
		q.Header = k.header.Clone()
	}
	if k.json != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if k.accept == "" {
		k.accept = "application/json"
	}
	q.Header.Set("Accept", k.accept)
	if c.key != "" {
		q.Header.Set("Authorization", "Bearer "+c.key)
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the gateway: %w", err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		defer answer.Body.Close()
		return nil, readError(answer)
	}
	return answer, nil
}

// most is how much of an answer in JSON is read, streams and files apart.
const most = 64 << 20

// ask makes a call whose answer is JSON, or nothing where into is nil.
func (c *Client) ask(ctx context.Context, k call, into any) error {
	answer, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(answer.Body, most))
		return err
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "application/json" {
		return fmt.Errorf("cannot understand the answer: it is %q and not JSON; is this a gateway?", answer.Header.Get("Content-Type"))
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, most)).Decode(into); err != nil {
		return fmt.Errorf("cannot understand the answer: %w", err)
	}
	return nil
}
