package roster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// current is the file of a log that is being written; when it is full another one takes its name.
const current = "current"

// window is how far back the last lines are looked for.
const window = 1 << 20

// tail opens the log that another supervisor's logger keeps in dir, at its last lines.
func tail(ctx context.Context, dir string, lines int, follow bool) (io.ReadCloser, error) {
	t := &tailer{ctx: ctx, path: filepath.Join(dir, current), follow: follow}
	if err := t.open(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if t.f != nil {
		if err := t.seek(lines); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// tailer reads a log and, to follow, waits for more of it until its context ends. A log that is not there has said
// nothing yet.
type tailer struct {
	ctx    context.Context
	path   string
	follow bool
	f      *os.File
}

func (t *tailer) open() error {
	f, err := os.OpenFile(t.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	t.f = f
	return nil
}

// seek goes to the beginning of the last lines.
func (t *tailer) seek(lines int) error {
	end, err := t.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	start := max(0, end-window)
	text := make([]byte, end-start)
	if _, err := io.ReadFull(io.NewSectionReader(t.f, start, end-start), text); err != nil {
		return err
	}
	at := len(text)
	for ; lines > 0 && at > 0; lines-- {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	_, err = t.f.Seek(start+int64(at), io.SeekStart)
	return err
}

// pause is how long a follower waits for more.
const pause = 200 * time.Millisecond

func (t *tailer) Read(p []byte) (int, error) {
	for {
		if t.f != nil {
			if n, err := t.f.Read(p); n > 0 || err != io.EOF {
				return n, err
			}
		}
		if !t.follow {
			return 0, io.EOF
		}
		if t.turned() {
			continue
		}
		select {
		case <-t.ctx.Done():
			return 0, io.EOF
		case <-time.After(pause):
		}
	}
}

// turned goes on to the file that has taken the log's name, if there is another one, once nothing is left of the old.
func (t *tailer) turned() bool {
	named, err := os.Stat(t.path)
	if err != nil {
		return false
	}
	if t.f != nil {
		if open, err := t.f.Stat(); err != nil || os.SameFile(open, named) {
			return false
		}
		t.f.Close()
		t.f = nil
	}
	return t.open() == nil
}

func (t *tailer) Close() error {
	if t.f == nil {
		return nil
	}
	return t.f.Close()
}
