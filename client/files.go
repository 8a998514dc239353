package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"hermes.example/hermes/sandbox"
)

// Files is the files of a sandbox, with the rights of its commands. A path that does not begin with a slash lies where
// commands begin. Names are bytes, as Linux has them.
type Files struct{ task *Task }

// Files returns those of the task's sandbox.
func (t *Task) Files() Files { return Files{t} }

// query is the path with what else is said of it.
func query(path string, more ...string) url.Values {
	v := url.Values{"path": {path}}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

func (f Files) call(method string, q url.Values, parts ...string) call {
	return call{method: method, path: f.task.route(append([]string{"files"}, parts...)...), query: q}
}

// Open reads a file as a stream, which is the caller's to close. One that breaks is an error.
func (f Files) Open(ctx context.Context, path string, s sandbox.Section) (io.ReadCloser, error) {
	q := query(path)
	if s.Offset != 0 {
		q.Set("offset", strconv.FormatInt(s.Offset, 10))
	}
	if s.Limit != 0 {
		q.Set("limit", strconv.FormatInt(s.Limit, 10))
	}
	k := f.call(http.MethodGet, q)
	k.accept = "application/octet-stream"
	answer, err := f.task.client.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// ReadFile returns the content of a file that has at most limit bytes. Of a larger one it returns
// [sandbox.ErrTooLarge] and nothing.
func (f Files) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	r, err := f.Open(ctx, path, sandbox.Section{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, err
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return content, nil
	case nil:
		return nil, fmt.Errorf("cannot read %q: it is %w of %d bytes", path, sandbox.ErrTooLarge, limit)
	default:
		return nil, err
	}
}

// Write makes a file of what content yields, and returns how many bytes that were. It appears under its name when it
// is whole; on an error, what was there before stays.
func (f Files) Write(ctx context.Context, path string, content io.Reader, o sandbox.WriteOptions) (int64, error) {
	q := query(path)
	if o.Mode != 0 {
		q.Set("mode", formatMode(o.Mode))
	}
	if o.Append {
		q.Set("append", "true")
	}
	if o.Limit != 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	k := f.call(http.MethodPut, q)
	k.body, k.header = content, http.Header{"Content-Type": {"application/octet-stream"}}
	var w Written
	err := f.task.client.ask(ctx, k, &w)
	return w.Bytes, err
}

// Stat looks at a file; a link is followed.
func (f Files) Stat(ctx context.Context, path string) (sandbox.FileInfo, error) {
	return f.stat(ctx, query(path))
}

// Lstat looks at a file, which may be a link.
func (f Files) Lstat(ctx context.Context, path string) (sandbox.FileInfo, error) {
	return f.stat(ctx, query(path, "follow", "false"))
}

func (f Files) stat(ctx context.Context, q url.Values) (sandbox.FileInfo, error) {
	var file File
	if err := f.task.client.ask(ctx, f.call(http.MethodGet, q, "stat"), &file); err != nil {
		return sandbox.FileInfo{}, err
	}
	return file.Info()
}

// Mkdir makes a directory; with parents those above it too, and one that exists is no error. A mode of zero is 0755.
func (f Files) Mkdir(ctx context.Context, path string, mode fs.FileMode, parents bool) error {
	q := query(path, "parents", strconv.FormatBool(parents))
	if mode != 0 {
		q.Set("mode", formatMode(mode))
	}
	return f.task.client.ask(ctx, f.call(http.MethodPost, q, "mkdir"), nil)
}

// Rename gives a file or directory another path, in place of what has it.
func (f Files) Rename(ctx context.Context, from, to string) error {
	return f.task.client.ask(ctx, f.call(http.MethodPost, query(from, "to", to), "rename"), nil)
}

// Remove removes a file, a link or an empty directory; with all, also what is in a directory.
func (f Files) Remove(ctx context.Context, path string, all bool) error {
	return f.task.client.ask(ctx, f.call(http.MethodDelete, query(path, "all", strconv.FormatBool(all))), nil)
}

// List yields the entries of a directory, in no order, as they come. An error is the last thing that it yields: more
// entries than there may be are [sandbox.ErrTooLarge].
func (f Files) List(ctx context.Context, dir string, o sandbox.ListOptions) iter.Seq2[sandbox.FileInfo, error] {
	q := query(dir, "depth", strconv.Itoa(o.Depth))
	if o.Entries != 0 {
		q.Set("limit", strconv.Itoa(o.Entries))
	}
	return func(yield func(sandbox.FileInfo, error) bool) {
		answer, err := f.task.client.send(ctx, f.call(http.MethodGet, q, "list"))
		if err != nil {
			yield(sandbox.FileInfo{}, err)
			return
		}
		defer answer.Body.Close()
		if err := readListing(json.NewDecoder(answer.Body), yield); err != nil {
			yield(sandbox.FileInfo{}, err)
		}
	}
}

// readListing reads a [Listing] entry by entry, so that it need not be in memory.
func readListing(d *json.Decoder, yield func(sandbox.FileInfo, error) bool) error {
	for _, want := range []json.Token{json.Delim('{'), "entries", json.Delim('[')} {
		if got, err := d.Token(); err != nil || got != want {
			return errors.Join(errors.New("cannot understand the listing"), err)
		}
	}
	for d.More() {
		var file File
		if err := d.Decode(&file); err != nil {
			return fmt.Errorf("cannot understand the listing: %w", err)
		}
		info, err := file.Info()
		if err != nil {
			return fmt.Errorf("cannot understand the listing: %w", err)
		}
		if !yield(info, nil) {
			return nil
		}
	}
	return readEnd(d)
}

// readEnd reads what a listing says of itself after its entries. One that was cut off does not say it.
func readEnd(d *json.Decoder) error {
	var truncated bool
	var problem *Problem
	_, err := d.Token() // the end of the entries
	for err == nil && d.More() {
		var field json.Token
		if field, err = d.Token(); err != nil {
			break
		}
		var value any = new(any)
		switch field {
		case "truncated":
			value = &truncated
		case "problem":
			value = &problem
		}
		err = d.Decode(value)
	}
	if err == nil {
		_, err = d.Token()
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot understand the listing: %w", err)
	case problem != nil:
		return &Error{Problem: *problem}
	case truncated:
		return fmt.Errorf("cannot list all of it: there are more entries than may be, %w", sandbox.ErrTooLarge)
	}
	return nil
}
