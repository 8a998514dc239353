package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// line is the connection between the protocol's library and a process. The process's output is written to it, its
// input is read from it; the library reads and writes messages. It ends once, with a reason, from either side.
type line struct {
	most  int64     // bytes of one message
	words io.Writer // is given what is no message
	fail  func(why string)

	partial []byte // of a line; only the process's output comes here
	in      chan jsonrpc.Message
	out     chan []byte
	answers answers
	// asked is how many requests of the process wait for our answer.
	asked  atomic.Int32
	ended  chan struct{}
	ending sync.Once
}

func newLine(most int64, words io.Writer, fail func(why string)) *line {
	return &line{most: most, words: words, fail: fail, in: make(chan jsonrpc.Message), out: make(chan []byte), ended: make(chan struct{})}
}

// errEnded is what the library and the process's output are told when the line is no more.
var errEnded = errors.New("the backend has ended")

// mostAsked is how many of its requests a backend may leave waiting: it has nothing to ask but whether we are there.
const mostAsked = 16

// output is where the process writes its messages to, one a line. As long as the library does not take a message, the
// process waits: neither has to keep what the other writes.
type output struct{ *line }

// Write fails when the process shall not write any more.
func (o output) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		rest, next, whole := bytes.Cut(p, []byte("\n"))
		if int64(len(o.partial)+len(rest)) > o.most {
			o.partial = nil
			o.fail(fmt.Sprintf("it sent a message of more than %d bytes", o.most))
			return 0, errEnded
		}
		if !whole {
			o.partial = append(o.partial, rest...)
			return n, nil
		}
		text := rest
		if len(o.partial) > 0 {
			text, o.partial = append(o.partial, rest...), nil
		}
		if err := o.take(text); err != nil {
			return 0, err
		}
		p = next
	}
	return n, nil
}

// take passes one line on. What was not meant as a message is something the backend said.
func (o output) take(text []byte) error {
	message, err := decode(text)
	switch {
	case err == nil:
		return o.pass(message)
	case meant(text):
		o.fail("it sent a message that is none: " + err.Error())
		return errEnded
	}
	o.words.Write(append(slices.Clip(bytes.TrimSpace(text)), '\n')) // what was written is not ours to change
	return nil
}

// decode is strict: the library's decoder takes text of another encoding.
func decode(text []byte) (jsonrpc.Message, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	return jsonrpc.DecodeMessage(text)
}

// meant says whether a line was to be a message. Whoever waits for it would wait in vain.
func meant(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && bytes.Contains(text, []byte(`"jsonrpc"`))
}

// pass gives a message to the library. Its notifications are of no use to us, and nothing would bound how many of them
// the library keeps; its requests are answered, as long as it reads the answers.
func (o output) pass(message jsonrpc.Message) error {
	if request, ok := message.(*jsonrpc.Request); ok {
		if !request.IsCall() {
			return nil
		}
		if o.asked.Add(1) > mostAsked {
			o.fail("it asks, and does not read the answers")
			return errEnded
		}
	}
	o.answers.keep(message)
	select {
	case o.in <- message:
		return nil
	case <-o.ended:
		return errEnded
	}
}

// input is what the process reads: whole messages, and the end when the line has ended.
type input struct {
	*line
	rest []byte
}

func (i *input) Read(p []byte) (int, error) {
	if len(i.rest) == 0 {
		select {
		case i.rest = <-i.out:
		case <-i.ended:
			return 0, io.EOF
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// Connect is how the library gets at the line.
func (l *line) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// Read is the library's: the next message of the process.
func (l *line) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-l.in:
		return message, nil
	case <-l.ended:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write is the library's. A message is handed over whole or not at all, so that a caller that gives up, because the
// process does not read, leaves no part of one.
func (l *line) Write(ctx context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	l.answers.await(ctx, message)
	select {
	case l.out <- append(text, '\n'):
		if _, answer := message.(*jsonrpc.Response); answer {
			l.asked.Add(-1)
		}
		return nil
	case <-l.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the line.
func (l *line) Close() error {
	l.ending.Do(func() { close(l.ended) })
	return nil
}

// SessionID is the library's; a process has none.
func (l *line) SessionID() string { return "" }
