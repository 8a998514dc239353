package api

import (
	"net/http"
	"slices"
)

// Operation is one line of the table: a route with all that the document says of it, and what answers it. The mux and
// the document are made of the same table, so that neither has what the other lacks.
type Operation struct {
	Method string
	// Path is as http.ServeMux writes it: {name} stands for one part, {name...} for all that is left.
	Path string
	// ID names the operation in generated clients.
	ID      string
	Tag     string
	Summary string
	// Detail says what the summary does not; may be empty.
	Detail string
	// Parameters are those of the query and the headers, and more about those of the path.
	Parameters []Parameter
	// Request is the body; nil for none.
	Request *Body
	Answers []Answer
	// Errors are the codes of problems that this one has beside those that all have.
	Errors []code
	// Open operations need no key.
	Open bool
	// Handle answers. Its error becomes a problem, unless something was written already.
	Handle func(w http.ResponseWriter, r *http.Request) error
}

// Where a parameter is.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
)

// Parameter is a value beside the body.
type Parameter struct {
	Name, In    string
	Description string
	// Type is a value of the type that it has; nil means text.
	Type     any
	Required bool
}

// Body is what a request carries.
type Body struct {
	// Type is a value of what the JSON is; nil for bytes of the kind Media.
	Type  any
	Media string
	// Limit is how many bytes are taken; zero means jsonLimit, and a negative one that the handler sees to it.
	Limit int64
	// Optional bodies may be left out.
	Optional bool
}

// Answer is what an operation answers when it could be done.
type Answer struct {
	Status      int
	Description string
	// Type is a value of what the JSON is; nil for bytes of the kind Media, or nothing.
	Type  any
	Media string
	// Events are what a text/event-stream has, by name, each with a value of what its data is.
	Events []Event
}

// Event is a kind of event.
type Event struct {
	Name        string
	Description string
	Type        any
}

// Media types.
const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
	mediaEvents  = "text/event-stream"
	mediaBytes   = "application/octet-stream"
	mediaTar     = "application/x-tar"
	mediaText    = "text/plain"
)

// jsonLimit is how large a body of JSON may be.
const jsonLimit = 1 << 20

// inside says whether it is about sandboxes.
func (o Operation) inside() bool {
	return slices.Contains([]string{"sandboxes", "exec", "files", "processes"}, o.Tag)
}

// limit is how many bytes of a body are taken, or a negative number.
func (o Operation) limit() int64 {
	switch {
	case o.Request == nil:
		return 0
	case o.Request.Limit == 0:
		return jsonLimit
	}
	return o.Request.Limit
}
