package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// readFile answers with the content of a file, or a part of it. The standard library knows what ranges and conditions
// in the headers mean.
func readFile(q *query) fileAction {
	section := sandbox.Section{Offset: q.Int("offset", 0), Limit: q.Int("limit", 0)}
	if (section.Offset < 0 || section.Limit < 0) && q.err == nil {
		q.err = bad("offset and limit must not be negative")
	}
	if section != (sandbox.Section{}) && q.r.Header.Get("Range") != "" && q.err == nil {
		q.err = bad("give either offset and limit or a Range, and not both")
	}
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		info, err := f.Stat(r.Context(), path)
		if err != nil {
			return err
		}
		if !info.Mode.IsRegular() {
			return Problem(client.CodeUnprocessable, fmt.Sprintf("cannot read %q: it is no file; files/list lists a directory, and archive has all of it", path))
		}
		begin := min(section.Offset, info.Size)
		end := info.Size
		if section.Limit > 0 {
			end = min(end, begin+section.Limit)
		}
		content := &fileContent{files: f, request: r, path: path, begin: begin, size: end - begin}
		defer content.Close()
		// The first byte shows whether it may be read; afterwards there is nothing left to answer with.
		if r.Method != http.MethodHead && content.size > 0 {
			if err := content.open(0); err != nil {
				return err
			}
		}
		out := newOutflow(w)
		defer out.end()
		w.Header().Set("Content-Type", mediaBytes)
		w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Time.UnixNano(), info.Size))
		// An answer that is shorter than it says ends the connection: who asked does not take it for whole.
		http.ServeContent(&ranged{outflow: out}, r, "", info.Time, content)
		return nil
	}
}

// fileContent is a part of a file that is opened where it is read.
type fileContent struct {
	files       sandbox.Files
	request     *http.Request
	path        string
	begin, size int64

	at     int64
	from   int64 // where the open stream is
	stream io.ReadCloser
}

func (c *fileContent) open(at int64) error {
	c.Close()
	s, err := c.files.Open(c.request.Context(), c.path, sandbox.Section{Offset: c.begin + at, Limit: c.size - at})
	if err == nil {
		c.stream, c.from = s, at
	}
	return err
}

// Seek only notes where to go on.
func (c *fileContent) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 || offset > c.size {
		return 0, errors.New("this is outside of the file")
	}
	c.at = offset
	return offset, nil
}

// Read fails for a file that has become shorter.
func (c *fileContent) Read(p []byte) (int, error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	if c.stream == nil || c.from != c.at {
		if err := c.open(c.at); err != nil {
			return 0, err
		}
	}
	n, err := c.stream.Read(p[:min(int64(len(p)), c.size-c.at)])
	c.at, c.from = c.at+int64(n), c.from+int64(n)
	if err == io.EOF && c.at < c.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *fileContent) Close() error {
	if c.stream == nil {
		return nil
	}
	err := c.stream.Close()
	c.stream = nil
	return err
}

// ranged makes a problem of a range that the file does not have.
type ranged struct {
	*outflow
	refused bool
}

func (w *ranged) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.refused = true
		w.Header().Del("ETag")
		Refuse(w.outflow, Problem(client.CodeBadRange, "cannot read that range: the file ends before it"))
		return
	}
	w.outflow.WriteHeader(status)
}

func (w *ranged) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.outflow.Write(p)
}

// writeFile makes a file of the body.
func writeFile(q *query) fileAction {
	o := sandbox.WriteOptions{Mode: q.Mode("mode"), Append: q.Bool("append"), Limit: q.Int("limit", 0)}
	if o.Limit < 0 && q.err == nil {
		q.err = bad("limit must not be negative")
	}
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		if o.Limit > 0 && r.ContentLength > o.Limit {
			return problemOf(&http.MaxBytesError{Limit: o.Limit})
		}
		n, err := f.Write(r.Context(), path, newInflow(w, r), o)
		if err != nil {
			return received(err)
		}
		return answer(w, http.StatusOK, client.Written{Bytes: n})
	}
}

// received tells a body that was cut off from what could not be done with it.
func received(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		return bad("cannot read the body: it ended too early, or took too long")
	}
	return err
}
