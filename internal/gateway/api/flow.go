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
	if err == io.EOF { // what is read next is another request
		i.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// settle sends the answer and takes the rest of a body that nobody wants any more, for a while: a connection that is closed
// while somebody writes to it can take the answer from him. A connection that was to become another one may be the server's
// no more.
func settle(w http.ResponseWriter, r *http.Request, body io.Reader) {
	if body == http.NoBody || r.Header.Get("Upgrade") != "" || r.Context().Err() != nil {
		return
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(settleTime))
	if control.Flush() == nil {
		io.Copy(io.Discard, body)
	}
}

const settleTime = 5 * time.Second

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
