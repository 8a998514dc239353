package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MostMessage is how many bytes a message of a client may have.
const MostMessage = 8 << 20

// ServeLines serves one client that writes its messages to in, one a line, and reads ours from out. It returns when in has
// ended or ctx does, and nothing of the client's calls is left then.
func (d *Door) ServeLines(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ss, err := d.server.Connect(ctx, &lines{in: in, out: out}, nil)
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		d.stop() // no call keeps us
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
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex // one message is written at a time
}

type line struct {
	message jsonrpc.Message
	err     error
}

func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	l.read, l.closed = make(chan line), make(chan struct{})
	// It ends with the input, which cannot be interrupted on every system: at the latest with the process.
	go l.receive()
	return l, nil
}

func (l *lines) receive() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		text, whole, err := readLine(r, MostMessage)
		var next line
		switch {
		case err != nil:
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
	return l.write(text)
}

func (l *lines) write(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}

func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.in.Close()
}

// SessionID is empty: a line has one session.
func (l *lines) SessionID() string { return "" }
