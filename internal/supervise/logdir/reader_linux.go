package logdir

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Read is the log's last lines, all that is kept for a negative number, and to follow what comes after them until
// ctx ends or the reader is closed. A log that does not exist is empty, and can be followed.
func (p Place) Read(ctx context.Context, lines int, follow bool) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{place: p, ctx: ctx, cancel: cancel, follow: follow}
	if err := r.use(func(files []string) error { return r.begin(files, lines) }); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// reader reads one file after the other. It looks for news instead of being told: the writer may be another process.
type reader struct {
	place  Place
	ctx    context.Context
	cancel context.CancelFunc
	follow bool

	mu   sync.Mutex
	dir  *os.File // for the length of a use
	file *os.File // nil: there is none yet
	next *os.File // its successor; it is known that nobody writes to file any more
}

// poll is how often a reader that follows looks for news.
const poll = 100 * time.Millisecond

func (r *reader) Read(b []byte) (int, error) {
	for {
		n, err := r.read(b)
		if n > 0 || err != nil && err != io.EOF || err == io.EOF && !r.follow {
			return n, err
		}
		select {
		case <-r.ctx.Done():
			return 0, io.EOF
		case <-time.After(poll):
		}
	}
}

// read reads what there is; EOF means that there is no more yet.
func (r *reader) read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.ctx.Err() == nil {
		if r.file != nil {
			if n, err := r.file.Read(b); n > 0 || err != io.EOF {
				return n, err
			}
		}
		if r.next != nil {
			r.moveOn()
			continue
		}
		if err := r.use(r.succeed); err != nil {
			return 0, err
		}
		if r.next == nil {
			return 0, io.EOF
		}
		if r.file == nil {
			r.moveOn()
		} // else the file is read once more: it may have grown before it was let go
	}
	return 0, io.EOF
}

func (r *reader) moveOn() {
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.next = r.next, nil
}

func (r *reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range []*os.File{r.file, r.next} {
		if f != nil {
			f.Close()
		}
	}
	r.file, r.next = nil, nil
	return nil
}

// use calls do with the names of the files, oldest first, with the user's rights. Without a log there are none.
func (r *reader) use(do func(files []string) error) error {
	return r.place.Hand.Do(func() error {
		dir, err := r.place.open(false)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer dir.Close()
		r.dir = dir
		files, err := archives(dir)
		if err != nil {
			return err
		}
		return do(append(files, current))
	})
}

// open opens a file; nil means that it is not there any more, or not yet.
func (r *reader) open(name string) (*os.File, error) {
	f, err := openIn(r.dir, name, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// begin goes back from the end until there are enough lines.
func (r *reader) begin(files []string, lines int) error {
	for i := len(files) - 1; i >= 0; i-- {
		f, err := r.open(files[i])
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if r.file != nil {
			r.file.Close()
		}
		r.file = f
		found, err := seekTail(f, lines)
		if err != nil {
			return err
		}
		if lines >= 0 {
			if lines -= found; lines <= 0 {
				return nil
			}
		}
	}
	return nil
}

// farthest is how far back lines are looked for in one file: several times what a writer lets it grow to. The file is its
// owner's, who may have made it as long as the file system goes, out of nothing.
const farthest = 8 * FileSize

// seekTail goes to where the last lines begin, and says how many they are.
func seekTail(f *os.File, lines int) (found int, err error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return 0, err
	}
	begin := max(0, end-farthest)
	buf := make([]byte, 32<<10)
	for at := end; at > begin; {
		block := buf[:min(at-begin, int64(len(buf)))]
		at -= int64(len(block))
		if _, err := f.ReadAt(block, at); err != nil && err != io.EOF {
			return 0, err
		}
		for {
			i := bytes.LastIndexByte(block, '\n')
			if i < 0 {
				break
			}
			// The newline at the very end begins no line.
			if line := at + int64(i) + 1; line < end {
				if found++; found == lines {
					_, err := f.Seek(line, io.SeekStart)
					return found, err
				}
			}
			block = block[:i]
		}
	}
	if end > 0 {
		found++ // the first line
	}
	_, err = f.Seek(begin, io.SeekStart)
	return found, err
}

// succeed finds the file after the one that is open; nothing, if that is the current one. When so much was written
// that it was removed meanwhile, the oldest one is next.
func (r *reader) succeed(files []string) error {
	if r.file == nil || removed(r.file) {
		return r.first(files)
	}
	for i, name := range slices.Backward(files) {
		f, err := r.open(name)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		same := sameFile(r.file, f)
		f.Close()
		if same {
			return r.first(files[i+1:])
		}
	}
	return nil // it was renamed after the files were listed: the next look finds it
}

// first opens the first of some files that is there.
func (r *reader) first(files []string) (err error) {
	for _, name := range files {
		if r.next, err = r.open(name); r.next != nil || err != nil {
			return err
		}
	}
	return nil
}

func removed(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

func sameFile(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}
