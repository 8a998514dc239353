package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"hermes.example/hermes/sandbox"
)

// Archive is a tar stream on its way out of a sandbox. It is the caller's to close.
type Archive struct {
	answer *http.Response
	ended  bool
}

// CopyOut reads a file or directory as a tar stream in which it has the name as; with an empty name the stream has
// what is in the directory. The archive was made inside: whoever unpacks it must not trust its names.
func (f Files) CopyOut(ctx context.Context, path, as string, o sandbox.CopyOptions) (*Archive, error) {
	q := query(path, "as", as)
	bound(q, o)
	answer, err := f.task.client.send(ctx, call{method: http.MethodGet, path: f.task.route("archive"), query: q, accept: "application/x-tar"})
	if err != nil {
		return nil, err
	}
	return &Archive{answer: answer}, nil
}

func (a *Archive) Read(p []byte) (int, error) {
	n, err := a.answer.Body.Read(p)
	a.ended = a.ended || err == io.EOF
	return n, err
}

// Close gives the stream up.
func (a *Archive) Close() error { return a.answer.Body.Close() }

// Result is what the stream held. It is known after a Read that returned [io.EOF].
func (a *Archive) Result() (sandbox.CopyResult, error) {
	var r sandbox.CopyResult
	text := a.answer.Trailer.Get(CopyTrailer)
	switch {
	case !a.ended:
		return r, errors.New("cannot tell what the archive held: it was not read to its end")
	case text == "":
		return r, errors.New("cannot tell what the archive held: it was cut off")
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("cannot tell what the archive held: %w", err)
	}
	return r, nil
}

// CopyIn unpacks a tar stream into a directory that exists. Names that lead out of it are refused. What was whole
// before an error stays, and the error names where it stopped.
func (f Files) CopyIn(ctx context.Context, dir string, archive io.Reader, o sandbox.CopyOptions) (sandbox.CopyResult, error) {
	q := query(dir)
	bound(q, o)
	k := call{method: http.MethodPut, path: f.task.route("archive"), query: q, body: archive, header: http.Header{"Content-Type": {"application/x-tar"}}}
	var r sandbox.CopyResult
	err := f.task.client.ask(ctx, k, &r)
	return r, err
}

func bound(q url.Values, o sandbox.CopyOptions) {
	if o.Bytes != 0 {
		q.Set("bytes", strconv.FormatInt(o.Bytes, 10))
	}
	if o.Entries != 0 {
		q.Set("entries", strconv.Itoa(o.Entries))
	}
}
