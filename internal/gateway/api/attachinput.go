package api

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/coder/websocket"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// read takes the caller's messages until it is gone. Who breaks the rules is told, and gone too.
func (s *attachment) read(id string) {
	defer s.stop()
	open := true // the input, which stays so when the caller is gone: it may come back with more
	for {
		kind, message, err := s.conn.Read(s.ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			if !open || !s.feed(message) {
				return
			}
			continue
		}
		var request client.AttachRequest
		err = decodeJSON(message, &request)
		switch {
		case err == nil && request.Type == client.AttachResize && request.Term != nil:
			s.resize(*request.Term)
		case err == nil && request.Type == client.AttachEnd:
			if open {
				open = false
				close(s.input)
			}
		case err == nil && request.Type == client.AttachInterrupt:
			s.interrupt(id)
		case err == nil:
			s.refuse(bad("cannot understand the message: its type is resize, end or interrupt"))
			return
		default:
			s.refuse(err)
			return
		}
	}
}

// feed queues input for the command, and waits where there is too much of it.
func (s *attachment) feed(message []byte) bool {
	select {
	case s.input <- message:
		return true
	default:
	}
	s.setBlocked(true)
	defer s.setBlocked(false)
	select {
	case s.input <- message:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *attachment) setBlocked(blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = blocked
}

// resize hands on the newest size: one that was not taken yet is of no interest any more.
func (s *attachment) resize(t client.Terminal) {
	size := sandbox.Size{Rows: t.Rows, Cols: t.Cols}
	for {
		select {
		case s.sizes <- size:
			return
		default:
		}
		select {
		case <-s.sizes:
		default:
		}
	}
}

// interrupt ends the command, which then says how it ended. One that has not begun yet ends with its caller.
func (s *attachment) interrupt(id string) {
	err := s.api.use(s.ctx, s.task, alive, func(box *sandbox.Sandbox) error { return box.Interrupt(s.ctx, id) })
	if err != nil {
		s.refuse(err)
		s.stop()
	}
}

// ping finds out whether the caller is there. While nothing is read no answer is seen: then it is gone when it cannot even
// be asked, or its command would go on for ever. While something is sent it is not asked: it has as long for that as send
// gives it, and a question would wait behind it, for less.
func (s *attachment) ping() {
	ticker := time.NewTicker(s.api.pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if s.sending.Load() > 0 {
			continue
		}
		blocked := s.isBlocked()
		ctx, cancel := context.WithTimeout(s.ctx, s.api.pingEvery)
		err := s.conn.Ping(ctx)
		cancel()
		blocked = blocked || s.isBlocked() || s.sending.Load() > 0
		if err != nil && !(blocked && errors.Is(err, context.DeadlineExceeded)) {
			s.stop()
			return
		}
	}
}

func (s *attachment) isBlocked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked
}

// source is the input of a command, message by message, until nobody waits for the command any more.
type source struct {
	messages <-chan []byte
	over     <-chan struct{}
	rest     []byte
}

func (s *source) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		select {
		case message, more := <-s.messages:
			if !more {
				return 0, io.EOF
			}
			s.rest = message
		case <-s.over:
			return 0, io.EOF
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
