package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hermes.example/hermes/client"
)

// decode reads a body of JSON strictly: what is not understood is refused, and never left out. Afterwards the request
// may last as long as it needs.
func decode[T any](w http.ResponseWriter, r *http.Request, to *T) error {
	text, err := body(w, r)
	if err != nil {
		return err
	}
	return decodeJSON(text, to)
}

// decodeOptional is decode for a body that may be left out.
func decodeOptional[T any](w http.ResponseWriter, r *http.Request, to *T) error {
	if r.ContentLength == 0 {
		return nil
	}
	return decode(w, r, to)
}

// bodyTime is how long a body of JSON may take to arrive.
const bodyTime = 30 * time.Second

// body reads a body of JSON whole, within its limit and in time.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || media != mediaJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, Problem(client.CodeMediaType, "cannot read this body: send JSON in UTF-8, with Content-Type: "+mediaJSON)
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime))
	text, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, err
	case err != nil:
		return nil, bad("cannot read the body: it ended too early, or took too long")
	}
	return text, nil
}

// lasts lets a request go on for longer than one may take to arrive.
func lasts(w http.ResponseWriter) { http.NewResponseController(w).SetReadDeadline(time.Time{}) }

// decodeJSON is decode without the request, for what else brings JSON.
func decodeJSON[T any](text []byte, to *T) error {
	if !utf8.Valid(text) {
		return bad("cannot read the body: it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return bad("cannot read the body: " + explain(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return bad("cannot read the body: something follows the JSON")
	}
	return nil
}

// explain says what is wrong with JSON without the names of our types.
func explain(err error) string {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Sprintf("%q must not be a %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Sprintf("it must be an object, and not a %s", wrong.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON: %v, at byte %d", syntax, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it is no whole JSON"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// query reads parameters of the query strictly: what the operation does not know is refused, because a misspelt
// "files=true" must not be taken for its opposite.
type query struct {
	r   *http.Request
	err error
}

// Text is a parameter, or "".
func (q *query) Text(name string) string {
	values := q.r.URL.Query()[name]
	if len(values) > 1 && q.err == nil {
		q.err = bad(fmt.Sprintf("the parameter %q is there %d times", name, len(values)))
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// Bool is a parameter that is true or false, and false if it is not there.
func (q *query) Bool(name string) bool {
	switch text := q.Text(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		q.fail(name, text, "true or false")
		return false
	}
}

// Int is a parameter that is a whole number, or otherwise if it is not there.
func (q *query) Int(name string, otherwise int64) int64 {
	text := q.Text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		q.fail(name, text, "a whole number")
	}
	return n
}

// Seconds is a parameter that is a span of time in seconds, or otherwise.
func (q *query) Seconds(name string, otherwise time.Duration) time.Duration {
	text := q.Text(name)
	if text == "" {
		return otherwise
	}
	s, err := strconv.ParseFloat(text, 64)
	d, ok := seconds(s)
	if err != nil || !ok {
		q.fail(name, text, "a number of seconds")
	}
	return d
}

func (q *query) fail(name, text, want string) {
	if q.err == nil {
		q.err = bad(fmt.Sprintf("the parameter %q must be %s, and not %q", name, want, text))
	}
}

// seconds makes a span of a number of seconds, unless that is none.
func seconds(s float64) (time.Duration, bool) {
	const most = float64(1<<62) / float64(time.Second)
	if !(s >= 0 && s <= most) {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// headerHas says whether a header that is a list has a word.
func headerHas(h http.Header, name, word string) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values(name), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(part), word) {
			return true
		}
	}
	return false
}
