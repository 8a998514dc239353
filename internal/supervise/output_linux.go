package supervise

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// output carries what one process of a service says from its pipe to the supervisor's output and to its log, in one
// goroutine that ends with the pipe or with close. While nothing is said it holds no buffer.
type output struct {
	pipe *os.File
	give func(lines []byte)
	last func() // after the last line
	done chan struct{}
}

const (
	chunk = 32 << 10
	// longest is how much of a line is waited for; a longer one is given in pieces, as lines of their own.
	longest = 64 << 10
	// lastWords bounds what is read of a pipe that somebody still writes to though the tree is dead.
	lastWords = 1 << 20
	// blocked is how long the end of a service waits for a reader of the supervisor's output.
	blocked = 2 * time.Second
)

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

func newOutput(pipe *os.File, give func([]byte), last func()) *output {
	o := &output{pipe: pipe, give: give, last: last, done: make(chan struct{})}
	go o.run()
	return o
}

// close returns when all that was said has been given.
func (o *output) close() {
	_ = o.pipe.SetReadDeadline(time.Unix(1, 0)) // wakes run, which then takes what is there and waits for no more
	timer := time.NewTimer(blocked)
	defer timer.Stop()
	select {
	case <-o.done:
	case <-timer.C:
	}
	o.pipe.Close()
}

func (o *output) run() {
	defer close(o.done)
	defer o.last()
	conn, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	var l lines
	for {
		more, err := o.step(&l, conn.Read)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil || more == 0 {
			o.pass(l.rest())
			return
		}
	}
	for taken := 0; taken < lastWords; {
		n, err := o.step(&l, func(f func(uintptr) bool) error { return conn.Control(func(fd uintptr) { f(fd) }) })
		if err != nil || n == 0 {
			break
		}
		taken += n
	}
	o.pass(l.rest())
}

// step reads once, in the way given, and passes the whole lines on. Nothing read is the end.
func (o *output) step(l *lines, read func(func(fd uintptr) bool) error) (n int, err error) {
	var buf *[chunk]byte
	waited := read(func(fd uintptr) bool {
		buf = chunks.Get().(*[chunk]byte)
		n, err = unix.Read(int(fd), buf[:])
		if err == nil {
			return true
		}
		chunks.Put(buf)
		buf, n = nil, 0
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if buf != nil {
		o.pass(l.add(buf[:n]))
		chunks.Put(buf)
	}
	if waited != nil {
		err = waited
	}
	return n, err
}

func (o *output) pass(whole []byte) {
	if len(whole) > 0 {
		o.give(whole)
	}
}

// lines makes whole lines of what is read.
type lines struct{ begun []byte }

// add returns the lines that the chunk completes. They are good until the chunk changes.
func (l *lines) add(chunk []byte) []byte {
	end := bytes.LastIndexByte(chunk, '\n') + 1
	if end == 0 {
		l.begun = append(l.begun, chunk...)
		if len(l.begun) < longest {
			return nil
		}
		return l.rest()
	}
	whole := chunk[:end]
	if len(l.begun) > 0 {
		whole = append(l.begun, whole...)
	}
	l.begun = bytes.Clone(chunk[end:])
	return whole
}

// rest is what was begun, as a line.
func (l *lines) rest() []byte {
	if len(l.begun) == 0 {
		return nil
	}
	whole := append(l.begun, '\n')
	l.begun = nil
	return whole
}
