package guest

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// buffer is what output is carried in. It starts small, because most commands
// say little, and grows once when it was full.
type buffer struct{ bytes []byte }

const (
	smallBuffer = 4 << 10
	largeBuffer = 128 << 10
)

var largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}

func newBuffer() *buffer { return &buffer{make([]byte, smallBuffer)} }

// grow makes the buffer large if n bytes filled it, and says whether it did.
func (b *buffer) grow(n int) bool {
	if n < len(b.bytes) || len(b.bytes) == largeBuffer {
		return false
	}
	b.bytes = *largeBuffers.Get().(*[]byte)
	return true
}

func (b *buffer) release() {
	if len(b.bytes) == largeBuffer {
		largeBuffers.Put(&b.bytes)
	}
}

// pump carries one descriptor of a command to where its output goes.
type pump struct {
	from   *os.File
	to     io.Writer
	passed atomic.Int64 // bytes that the output has
	// waiting is true while the pump waits for the command, not for a caller: it has seen that there is nothing to
	// read, and has passed on what there was.
	waiting atomic.Bool
	ended   chan struct{}
}

func newPump(from *os.File, to io.Writer) *pump {
	return &pump{from: from, to: to, ended: make(chan struct{})}
}

// pump starts the pumps.
func (c *command) pump() {
	for _, p := range c.pumps {
		go p.run()
	}
}

func (p *pump) run() {
	defer close(p.ended)
	defer p.from.Close()
	raw, err := p.from.SyscallConn()
	if err != nil {
		return // somebody has closed it
	}
	buf := newBuffer()
	defer buf.release()
	for {
		n, err := p.read(raw, buf.bytes)
		if n > 0 {
			p.to.Write(buf.bytes[:n])
			p.passed.Add(int64(n))
		}
		if err != nil {
			return // end of file, or EIO from a terminal whose last user is gone
		}
		if buf.grow(n) {
			p.widen()
		}
	}
}

// read reads what there is, and waits where there is nothing.
func (p *pump) read(raw syscall.RawConn, buf []byte) (n int, err error) {
	polled := raw.Read(func(fd uintptr) bool {
		p.waiting.Store(false)
		for err = unix.EINTR; err == unix.EINTR; {
			n, err = unix.Read(int(fd), buf)
		}
		p.waiting.Store(err == unix.EAGAIN)
		return err != unix.EAGAIN
	})
	switch {
	case polled != nil:
		return 0, polled
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// widen lets a command that has much to say, say more at once.
func (p *pump) widen() {
	if raw, err := p.from.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, largeBuffer) })
	}
}

const (
	// A background child may hold the output open for ever. Once the command
	// has exited its output counts as complete after this much silence, or,
	// where there is none, after the bound.
	drainSilence = 300 * time.Millisecond
	drainBound   = 2 * time.Second
)

// drain waits until the output is complete.
func (c *command) drain() {
	bound := bootTime() + drainBound
	for _, p := range c.pumps {
		p.drain(bound)
	}
}

// drain returns at the end of file, or when only a background child can still be
// writing: all is passed on that was in the pipe when the command had exited.
// However long a slow caller takes for that, nothing of it is lost.
func (p *pump) drain(bound time.Duration) {
	own := p.passed.Load() + largeBuffer + p.pending() // the pump may hold a buffer of it
	for {
		before := p.passed.Load()
		select {
		case <-p.ended:
			return
		case <-time.After(drainSilence):
		}
		if p.silent(before) || p.passed.Load() >= own && bootTime() >= bound {
			return
		}
	}
}

// silent says that the pump has passed on nothing since, and that there is nothing to pass on. On a busy machine its
// turn may not have come for longer than any silence: what is in the pipe counts, and what it may have just taken out.
func (p *pump) silent(since int64) bool {
	return p.waiting.Load() && p.pending() == 0 && p.waiting.Load() && p.passed.Load() == since
}

// pending is how much waits to be read.
func (p *pump) pending() int64 {
	pending := 0
	if raw, err := p.from.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { pending, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return int64(pending)
}

// open makes the child's standard descriptors, in files, and the pumps for ours.
// Those of the child's that are only for it are added to theirs.
func (c *command) open(null int, files map[int]int, theirs *[]int) error {
	if c.request.TTY != nil {
		master, slave, err := pty.Open()
		if err != nil {
			return err
		}
		pty.Setsize(master, &pty.Winsize{Rows: c.request.TTY.Rows, Cols: c.request.TTY.Cols})
		c.master, c.slave, c.stdin = master, slave, master
		c.pumps = append(c.pumps, newPump(master, c.stdout))
		files[0] = int(slave.Fd())
		files[1], files[2] = files[0], files[0]
		return nil
	}
	files[0] = null
	if c.request.Stdin {
		read, write, err := pipe()
		if err != nil {
			return err
		}
		*theirs = append(*theirs, read)
		files[0], c.stdin = read, ourEnd(write)
	}
	outputs := []*output{c.stdout, c.stderr}
	for i, out := range outputs {
		if i == 1 && out == outputs[0] {
			files[2] = files[1]
			break
		}
		read, write, err := pipe()
		if err != nil {
			return err
		}
		*theirs = append(*theirs, write)
		files[1+i] = write
		c.pumps = append(c.pumps, newPump(ourEnd(read), c.sink(out)))
	}
	return nil
}

// sink is where what the command writes to out really goes.
func (c *command) sink(out *output) io.Writer {
	if c.background != nil {
		return c.background.sink
	}
	return out
}

func pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, os.NewSyscallError("pipe", err)
	}
	return fds[0], fds[1], nil
}

// ourEnd makes an end of a pipe non-blocking, for our poller. The child's end
// blocks, as programs expect.
func ourEnd(fd int) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "pipe")
}
