package guest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// logFile is the output of a background process on disk, as files that each hold
// a stretch of it and are named by the offset of their first byte. The last one
// is written; when all are larger than the bound, the first one goes.
//
// There is no index that could disagree with the files: whenever the guest is
// killed, what it leaves is a log that can be read, with its offsets.
type logFile struct {
	dir      *os.File // of all background processes
	name     string   // of this one's directory in it
	bound    int64
	stretch  int64 // how long one gets before the next begins
	parts    []logPart
	end      int64
	writing  *os.File      // the last part, or nil
	together *atomic.Int64 // bytes of all logs of the sandbox
}

// logPart is one of the files. Each begins where the one before it ends.
type logPart struct{ start, length int64 }

const (
	// defaultLog is how much of a log is kept.
	defaultLog = 16 << 20
	// A log has a few parts, so that it loses little when it loses one.
	logParts   = 8
	maxStretch = 1 << 20
)

func newLogFile(dir *os.File, name string, bound int64, together *atomic.Int64) *logFile {
	return &logFile{dir: dir, name: name, bound: bound, stretch: max(1, min(bound/logParts, maxStretch)), together: together}
}

// path of a part, in the directory of all processes. With leading zeros, so that
// it sorts.
func (l *logFile) path(p logPart) string { return fmt.Sprintf("%s/%015d", l.name, p.start) }

// write keeps p. What the disk does not take is lost, not an error: the process
// matters more than its log. Before that the log loses its beginning.
func (l *logFile) write(p []byte, at int64) error {
	l.end = at + int64(len(p))
	for len(p) > 0 {
		n, err := l.add(p, at)
		p, at = p[n:], at+int64(n)
		if err != nil && len(l.parts) == 1 {
			l.rest()
			l.dropFirst()
			break
		}
		if err != nil || l.held() > l.bound {
			l.dropFirst()
		}
	}
	return nil
}

// add writes as much as the last part takes, or a new one.
func (l *logFile) add(p []byte, at int64) (int, error) {
	last := len(l.parts) - 1
	if last < 0 || l.parts[last].length >= l.stretch {
		l.rest()
		l.parts = append(l.parts, logPart{start: at})
		last++
	}
	if l.writing == nil {
		fd, err := unix.Openat(int(l.dir.Fd()), l.path(l.parts[last]), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return 0, os.NewSyscallError("open log", err)
		}
		l.writing = os.NewFile(uintptr(fd), "log")
	}
	n, err := l.writing.Write(p[:min(int64(len(p)), l.stretch-l.parts[last].length)])
	l.parts[last].length += int64(n)
	l.together.Add(int64(n))
	return n, err
}

// rest closes the part that is written until more comes.
func (l *logFile) rest() {
	if l.writing != nil {
		l.writing.Close()
		l.writing = nil
	}
}

func (l *logFile) dropFirst() {
	if len(l.parts) == 0 {
		return
	}
	unix.Unlinkat(int(l.dir.Fd()), l.path(l.parts[0]), 0)
	l.together.Add(-l.parts[0].length)
	l.parts = slices.Delete(l.parts, 0, 1)
}

func (l *logFile) held() int64 {
	if len(l.parts) == 0 {
		return 0
	}
	last := l.parts[len(l.parts)-1]
	return last.start + last.length - l.parts[0].start
}

func (l *logFile) read(p []byte, at int64) (int, error) {
	i, found := slices.BinarySearchFunc(l.parts, at, func(part logPart, at int64) int {
		switch {
		case at < part.start:
			return 1
		case at >= part.start+part.length:
			return -1
		}
		return 0
	})
	if !found {
		return 0, fmt.Errorf("the log has no byte %d", at)
	}
	part := l.parts[i]
	fd, err := unix.Openat(int(l.dir.Fd()), l.path(part), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, os.NewSyscallError("open log", err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Pread(fd, p[:min(int64(len(p)), part.start+part.length-at)], at-part.start)
		if err != unix.EINTR {
			return max(n, 0), os.NewSyscallError("read log", err)
		}
	}
}

func (l *logFile) start() int64 {
	if len(l.parts) == 0 {
		return l.end
	}
	return l.parts[0].start
}

// charge is nothing: logs have a bound of their own.
func (l *logFile) charge() int64 { return 0 }

// close takes the log off the books; its files go with their directory.
func (l *logFile) close() {
	l.rest()
	l.together.Add(-l.held())
	l.parts = nil
}

// load finds the parts that an earlier guest left. Should the machine have lost
// one, what comes before it is dropped.
func (l *logFile) load(names []string) {
	for _, name := range names {
		start, err := strconv.ParseInt(name, 10, 64)
		var info unix.Stat_t
		if err != nil || unix.Fstatat(int(l.dir.Fd()), l.name+"/"+name, &info, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		l.parts = append(l.parts, logPart{start, info.Size})
		l.together.Add(info.Size)
	}
	slices.SortFunc(l.parts, func(a, b logPart) int { return int(max(-1, min(1, a.start-b.start))) })
	for i := len(l.parts) - 1; i > 0; i-- {
		if before := l.parts[i-1]; before.start+before.length != l.parts[i].start {
			for range i {
				l.dropFirst()
			}
			break
		}
	}
	if n := len(l.parts); n > 0 {
		l.end = l.parts[n-1].start + l.parts[n-1].length
	}
}

// newLog is an output that is kept in a log from its first byte on. Nobody who
// reads it slows the process down: it serves others than its readers.
func newLog(l *logFile) *output {
	o := newOutput(l.bound, nil)
	o.backing, o.hurried = l, true
	o.start, o.end = l.start(), l.end
	return o
}

// place is the offset that a caller wants to read a log from.
func (o *output) place(req wire.Log) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case req.Lines > 0:
		return o.linesBack(req.Lines)
	case req.Offset < 0:
		return max(o.start, o.end+req.Offset)
	}
	return req.Offset
}

// linesBack is where the last lines begin. A newline at the very end ends the
// last line and begins none.
func (o *output) linesBack(lines int) int64 {
	buf := make([]byte, 32<<10)
	for end := o.end; end > o.start; {
		from := max(o.start, end-int64(len(buf)))
		for at := from; at < end; {
			n, err := o.read(buf[at-from:end-from], at)
			if err != nil || n == 0 {
				return end
			}
			at += int64(n)
		}
		for i := end - from - 1; i >= 0; i-- {
			if buf[i] == '\n' && from+i+1 < o.end {
				if lines--; lines == 0 {
					return from + i + 1
				}
			}
		}
		end = from
	}
	return o.start
}

// rest closes what is open for writing until more is written.
func (o *output) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l, ok := o.backing.(*logFile); ok {
		l.rest()
	}
}

// shorten gives up the beginning of a log, unless that is all there is.
func (o *output) shorten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l, ok := o.backing.(*logFile); ok && len(l.parts) > 1 {
		l.dropFirst()
		o.start = max(o.start, l.start())
	}
}

// removeLog removes the directory of a process with all that is in it.
func removeLog(dir *os.File, name string) error {
	names, err := listDir(dir, name)
	for _, file := range names {
		err = errors.Join(err, unix.Unlinkat(int(dir.Fd()), name+"/"+file, 0))
	}
	return errors.Join(err, unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR))
}

// listDir lists a directory within dir.
func listDir(dir *os.File, name string) ([]string, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return f.Readdirnames(-1)
}
