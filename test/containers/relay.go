//go:build linux

package containers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// serve carries one request and all that belongs to it, and returns when both directions have ended.
func (p *Proxy) serve(ctx context.Context, cancel context.CancelFunc, l net.Listener, front net.Conn) {
	fromCaller := bufio.NewReader(front)
	head, err := readHead(fromCaller)
	if err != nil {
		return
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return
	}
	fault := p.note(request)
	if fault.due(false, false) {
		if !fault.suffer(ctx) {
			return
		}
		if fault.Status != 0 {
			fault.answer(front)
			_, _ = io.Copy(io.Discard, fromCaller) // who closes with something unread takes the answer back
			return
		}
	}
	back, err := p.dial(ctx)
	if err != nil || !p.keep(l, back, cancel) {
		return
	}
	defer p.drop(back)

	var asking sync.WaitGroup
	asking.Go(func() {
		defer closeWrite(back)
		if _, err := back.Write(once(head, request)); err != nil {
			return
		}
		if fault.due(false, true) && !fault.part(ctx, back, fromCaller) {
			front.Close()
			back.Close()
			return
		}
		_, _ = io.Copy(back, fromCaller)
	})
	if answer(ctx, front, bufio.NewReader(back), fault) {
		closeWrite(front)
	} else {
		front.Close()
		back.Close()
	}
	asking.Wait()
}

// answer passes on what the daemon says, and tells whether it came to its own end.
func answer(ctx context.Context, front net.Conn, fromDaemon *bufio.Reader, fault *injected) bool {
	head, err := readHead(fromDaemon)
	if err != nil {
		return false
	}
	if fault.due(true, false) {
		if !fault.suffer(ctx) {
			return false
		}
		if fault.Status != 0 {
			fault.answer(front)
			return true
		}
	}
	if _, err := front.Write(head); err != nil {
		return false
	}
	if fault.due(true, true) && !fault.part(ctx, front, fromDaemon) {
		return false
	}
	_, err = io.Copy(front, fromDaemon)
	return err == nil
}

// once asks the daemon to close after the answer. A connection that is upgraded closes by itself.
func once(head []byte, request *http.Request) []byte {
	if request.Header.Get("Upgrade") != "" {
		return head
	}
	return []byte(strings.Replace(string(head), "\r\n", "\r\nConnection: close\r\n", 1))
}

// readHead reads to the empty line that ends the head of a request or of an answer.
func readHead(r *bufio.Reader) ([]byte, error) {
	var head []byte
	for len(head) < 1<<20 {
		line, err := r.ReadBytes('\n')
		head = append(head, line...)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			return head, nil
		}
	}
	return nil, errors.New("the head has no end")
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
