package api

import (
	"io"
	"net/http"
	"time"
)

// stall is how long one piece of a long body may take to arrive or to be taken. A whole body may take as long as it
// needs, as long as something moves: who stands still gives his place up.
const stall = 30 * time.Second

// inflow is the body of a request that may be long.
type inflow struct {
	control *http.ResponseController
	body    io.Reader
}

func newInflow(w http.ResponseWriter, r *http.Request) io.Reader {
	return &inflow{http.NewResponseController(w), r.Body}
}

func (i *inflow) Read(p []byte) (int, error) {
	i.control.SetReadDeadline(time.Now().Add(stall))
	n, err := i.body.Read(p)
	if err != nil { // the body is over: what is read next is another request
		i.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// outflow is the body of an answer that may be long.
type outflow struct {
	control *http.ResponseController
	http.ResponseWriter
}

func newOutflow(w http.ResponseWriter) *outflow { return &outflow{http.NewResponseController(w), w} }

func (o *outflow) Write(p []byte) (int, error) {
	o.control.SetWriteDeadline(time.Now().Add(stall))
	return o.ResponseWriter.Write(p)
}

// end takes the deadline away again: the connection may have another request.
func (o *outflow) end() { o.control.SetWriteDeadline(time.Time{}) }
