package guest

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// inMemory is how much output of a command is held in memory before it moves to
// a ring file. Nearly all commands stay below it.
const inMemory = 64 << 10

// output is what a command wrote on one stream, as a window with absolute
// offsets: the newest bytes up to its size. It is written by one pump and read
// by any number of followers.
//
// While a follower is attached the writer waits for it, as a pipe would: a slow
// caller slows the command and loses nothing. Without one, and where nobody may
// slow the command, the oldest bytes go.
type output struct {
	mu        sync.Mutex
	changed   sync.Cond
	start     int64 // first byte that is kept
	end       int64 // one past the last
	window    int64
	memory    []byte  // bytes start..end, while there is no backing
	backing   backing // nil while memory is enough
	newRing   func() (*os.File, error)
	hurried   bool // the writer waits for no follower
	followers map[*follower]struct{}
	last      byte
}

// backing keeps output that is too much for memory, or has to outlive the guest.
type backing interface {
	// write keeps p, whose first byte has the offset at.
	write(p []byte, at int64) error
	// read reads bytes that are kept, from the offset at on: some of them.
	read(p []byte, at int64) (int, error)
	// start is the offset of the first byte that is kept.
	start() int64
	// charge is how much of the disk counts as kept for callers that come back.
	charge() int64
	close()
}

// follower is one reader's place in an output.
type follower struct {
	out    *output
	offset int64
	closed bool
}

func newOutput(window int64, newRing func() (*os.File, error)) *output {
	o := &output{window: window, newRing: newRing, followers: make(map[*follower]struct{})}
	o.changed.L = &o.mu
	return o
}

// Write appends p, waiting for followers that have fallen a window behind.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	written := len(p)
	for len(p) > 0 {
		for o.room() == 0 {
			o.changed.Wait()
		}
		n := int(min(int64(len(p)), o.room()))
		o.store(p[:n])
		p = p[n:]
		o.changed.Broadcast()
	}
	return written, nil
}

// room is how much can be written without taking bytes from a follower.
func (o *output) room() int64 {
	room := o.window
	if o.hurried {
		return room
	}
	for f := range o.followers {
		room = min(room, f.offset+o.window-o.end)
	}
	return max(room, 0)
}

func (o *output) store(p []byte) {
	o.last = p[len(p)-1]
	if o.backing == nil && int64(len(o.memory)+len(p)) > min(inMemory, o.window) {
		o.moveToRing()
	}
	if o.backing != nil && o.backing.write(p, o.end) != nil {
		// The disk is full. The command matters more than its replay: keep
		// what fits in memory from here on.
		o.backing.close()
		o.backing, o.newRing = nil, nil
		o.memory, o.start = nil, o.end
		o.window = min(o.window, 1<<20)
	}
	o.end += int64(len(p))
	if o.backing != nil {
		o.start = max(o.start, o.backing.start())
		return
	}
	o.memory = append(o.memory, p...)
	if over := o.end - o.start - o.window; over > 0 {
		o.start += over
		o.memory = append(o.memory[:0], o.memory[over:]...)
	}
}

func (o *output) moveToRing() {
	if o.newRing == nil {
		o.window = min(o.window, 1<<20)
		return
	}
	file, err := o.newRing()
	if err != nil {
		o.newRing = nil
		o.window = min(o.window, 1<<20)
		return
	}
	r := &ring{file: file, window: o.window}
	if len(o.memory) > 0 && r.write(o.memory, o.start) != nil {
		r.close()
		o.newRing = nil
		o.window = min(o.window, 1<<20)
		return
	}
	o.backing, o.memory = r, nil
}

func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end
}

// endsInLine says whether a line that is added now starts at the left edge.
func (o *output) endsInLine() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end == 0 || o.last == '\n'
}

// bounds are the offsets of the first byte that is kept, and after the last.
func (o *output) bounds() (start, end int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.start, o.end
}

// drop frees what is kept; offsets stay.
func (o *output) drop() {
	o.mu.Lock()
	o.start = o.end
	o.memory, o.newRing = nil, nil
	o.window = min(o.window, inMemory)
	if o.backing != nil {
		o.backing.close()
		o.backing = nil
	}
	o.mu.Unlock()
}

// kept tells how many bytes are held in memory and on disk.
func (o *output) kept() (memory, disk int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.backing != nil {
		return 0, o.backing.charge()
	}
	return int64(cap(o.memory)), 0
}

// follow attaches a reader at offset.
func (o *output) follow(offset int64) *follower {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := &follower{out: o, offset: max(0, min(offset, o.end))}
	o.followers[f] = struct{}{}
	return f
}

// Next waits for bytes before limit() and reads them into p. It returns the
// number of bytes that are no longer kept (gap) or read (n), and io.EOF when the
// limit is reached or the follower closed. A limit below zero is none yet.
func (f *follower) Next(p []byte, limit func() int64) (gap int64, n int, err error) {
	o := f.out
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		end := o.end
		if l := limit(); l >= 0 {
			end = min(end, l)
		}
		switch {
		case f.closed:
			return 0, 0, io.EOF
		case f.offset < o.start:
			gap = min(o.start, max(end, f.offset)) - f.offset
			if gap == 0 {
				return 0, 0, io.EOF
			}
			f.offset += gap
			o.changed.Broadcast()
			return gap, 0, nil
		case f.offset < end:
			n, err = o.read(p[:min(int64(len(p)), end-f.offset)], f.offset)
			f.offset += int64(n)
			o.changed.Broadcast()
			return 0, n, err
		case limit() >= 0 && f.offset >= limit():
			return 0, 0, io.EOF
		}
		o.changed.Wait()
	}
}

func (o *output) read(p []byte, offset int64) (int, error) {
	if o.backing == nil {
		return copy(p, o.memory[offset-o.start:]), nil
	}
	n, err := o.backing.read(p, offset)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// Close detaches the reader, which may be waiting in Next.
func (f *follower) Close() {
	f.out.mu.Lock()
	f.closed = true
	delete(f.out.followers, f)
	f.out.changed.Broadcast()
	f.out.mu.Unlock()
}

// wake makes followers look at their limits again.
func (o *output) wake() {
	o.mu.Lock()
	o.changed.Broadcast()
	o.mu.Unlock()
}

// ring is a file in which the newest bytes take the place of the oldest.
type ring struct {
	file        *os.File
	window, end int64
}

func (r *ring) write(p []byte, at int64) error {
	place := at % r.window
	first := min(int64(len(p)), r.window-place)
	_, err := r.file.WriteAt(p[:first], place)
	if err == nil && first < int64(len(p)) {
		_, err = r.file.WriteAt(p[first:], 0)
	}
	r.end = at + int64(len(p))
	return err
}

func (r *ring) read(p []byte, at int64) (int, error) {
	place := at % r.window
	return r.file.ReadAt(p[:min(int64(len(p)), r.window-place)], place)
}

func (r *ring) start() int64 { return max(0, r.end-r.window) }

func (r *ring) charge() int64 { return min(r.end, r.window) }

func (r *ring) close() { r.file.Close() }

// spoolDir makes ring files in a directory outside the sandbox. They have no
// name, so a guest that dies leaves none behind.
type spoolDir struct{ dir *os.File }

func (s spoolDir) newRing() (*os.File, error) {
	fd, err := unix.Openat(int(s.dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == unix.EOPNOTSUPP || err == unix.EISDIR || err == unix.ENOENT {
		const name = "output"
		if fd, err = unix.Openat(int(s.dir.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600); err == nil {
			err = unix.Unlinkat(int(s.dir.Fd()), name, 0)
		}
	}
	if err != nil {
		return nil, os.NewSyscallError("open ring", err)
	}
	return os.NewFile(uintptr(fd), "ring"), nil
}
