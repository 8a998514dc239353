package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MostMessage is how many bytes a message of a client may have.
const MostMessage = 8 << 20

// ServeLines serves one client that writes its messages to in, one a line, and reads ours from out. It returns when in has
// ended or ctx does, and nothing of the client's calls is left then.
func (d *Door) ServeLines(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	l := &lines{in: in, out: out}
	ss, err := d.server.Connect(ctx, l, nil)
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		d.stop() // no call keeps us
		l.end()  // nor a client that does not read
		ss.Close()
	})
	defer stop()
	err = ss.Wait()
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lines is the transport and its only connection. What is no message is answered with an error of the protocol, and the
// next line is read all the same: a client's mistake does not cost it its session.
type lines struct {
	in  io.ReadCloser
	out io.Writer

	read   chan line
	texts  chan text
	ended  chan struct{} // nobody is waited for any more
	ending sync.Once
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	owed     map[jsonrpc.ID]bool // requests that have no answer yet, and whether the client has cancelled them
	answered chan struct{}       // tells that one has
}

type line struct {
	message jsonrpc.Message
	err     error
}

// text is a message on its way out.
type text struct {
	bytes []byte
	sent  chan error // has room for the answer, which may not be waited for
}

func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	l.read, l.texts, l.ended, l.closed = make(chan line), make(chan text), make(chan struct{}), make(chan struct{})
	l.owed, l.answered = make(map[jsonrpc.ID]bool), make(chan struct{}, 1)
	// They end with the input and the output, which cannot be interrupted on every system: at the latest with the process.
	go l.receive()
	go l.send()
	return l, nil
}

func (l *lines) receive() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		text, whole, err := readLine(r, MostMessage)
		var next line
		switch {
		case err != nil:
			l.finish()
			l.end()
			next.err = err
		case !whole:
			l.complain(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", MostMessage))
			continue
		case len(text) == 0:
			continue
		default:
			if next.message, err = jsonrpc.DecodeMessage(text); err != nil {
				l.complain(jsonrpc.CodeParseError, "this is not one message of JSON-RPC 2.0")
				continue
			}
		}
		if request, ok := next.message.(*jsonrpc.Request); ok {
			l.owe(request)
		}
		select {
		case l.read <- next:
		case <-l.closed:
			return
		}
		if next.err != nil {
			return
		}
	}
}

// lastAnswers is how long a client that has said its last is given answers: it may be a pipe of a few requests.
const lastAnswers = time.Second

// finish waits until every request is answered, for a moment.
func (l *lines) finish() {
	end := time.NewTimer(lastAnswers)
	defer end.Stop()
	for l.owes() {
		select {
		case <-l.answered:
		case <-l.closed:
			return
		case <-end.C:
			return
		}
	}
}

// owe remembers that a request is to be answered, or that the client wants no answer to it any more.
func (l *lines) owe(r *jsonrpc.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.IsCall() {
		l.owed[r.ID] = false
		return
	}
	var cancelled struct{ RequestID any }
	if r.Method != "notifications/cancelled" || json.Unmarshal(r.Params, &cancelled) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil {
		if _, owed := l.owed[id]; owed {
			l.owed[id] = true
		}
	}
}

func (l *lines) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.owed) > 0
}

// settled says that a request has its answer.
func (l *lines) settled(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed, id)
	select {
	case l.answered <- struct{}{}:
	default:
	}
}

func (l *lines) cancelled(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed[id]
}

// readLine reads a line without what surrounds it. Of one that is too long nothing is kept.
func readLine(r *bufio.Reader, most int) (text []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole && len(text)+len(part) <= most {
			text = append(text, part...)
		} else {
			text, whole = nil, false
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(text)) > 0:
			return bytes.TrimSpace(text), whole, nil // the last line needs no end
		case err != nil:
			return nil, whole, err
		}
		return bytes.TrimSpace(text), whole, nil
	}
}

// complain answers what was no request, and so has no number.
func (l *lines) complain(code int64, why string) {
	l.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, why))
}

func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case next := <-l.read:
		return next.message, next.err
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *lines) Write(ctx context.Context, message jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("cannot write a message: %w", err)
	}
	if response, ok := message.(*jsonrpc.Response); ok {
		defer l.settled(response.ID)
		if l.cancelled(response.ID) {
			return nil // the protocol wants none then, and there are clients whose session an answer would end
		}
	}
	return l.write(text)
}

// write returns when a message is written. Once the end has come, a client that reads no more is not waited for: what it
// asked for would be held by it.
func (l *lines) write(message []byte) error {
	t := text{append(message, '\n'), make(chan error, 1)}
	taken, sent, ended := l.texts, (chan error)(nil), l.ended
	var late <-chan time.Time
	for {
		select {
		case taken <- t:
			taken, sent = nil, t.sent
		case err := <-sent:
			return err
		case <-ended:
			ended, late = nil, time.After(lastAnswers)
		case <-late:
			return errors.New("cannot write a message: the client does not read")
		case <-l.closed:
			return io.ErrClosedPipe
		}
	}
}

// send writes one message after the other.
func (l *lines) send() {
	for {
		select {
		case t := <-l.texts:
			_, err := l.out.Write(t.bytes)
			t.sent <- err
		case <-l.closed:
			return
		}
	}
}

// end says that nobody is waited for any more.
func (l *lines) end() { l.ending.Do(func() { close(l.ended) }) }

func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.in.Close()
}

// SessionID is empty: a line has one session.
func (l *lines) SessionID() string { return "" }
