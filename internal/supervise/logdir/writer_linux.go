package logdir

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// How much is kept.
const (
	FileSize = 1_000_000
	Archives = 10
)

// retry is how long a log that could not be written is let alone.
const retry = time.Second

// Writer appends to a log. What it cannot write is lost and costs its caller nothing but the try: a full disk must
// not stop a service. Its life: the zero value with a Place, any number of Write and Release. It is safe for
// concurrent use.
type Writer struct {
	Place Place
	// Warn is told once when the log cannot be written, with why, and once when it can be again, with how many
	// lines are missing.
	Warn func(err error, lost int)

	mu     sync.Mutex
	dir    *os.File
	file   *os.File
	size   int64
	broken bool
	tried  time.Time
	lost   int
}

// Write appends whole lines, each after the time.
func (w *Writer) Write(now time.Time, lines []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken && now.Sub(w.tried) < retry && now.After(w.tried) {
		w.lost += bytes.Count(lines, []byte{'\n'})
		return
	}
	w.tried = now
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	*text = stamp((*text)[:0], now, lines)
	err := w.Place.Hand.Do(func() error { return w.append(now, *text) })
	switch {
	case err == nil && w.broken:
		w.Warn(nil, w.lost)
		w.broken, w.lost = false, 0
	case err != nil:
		w.lost += bytes.Count(lines, []byte{'\n'})
		w.letGo()
		if !w.broken {
			w.broken = true
			w.Warn(err, 0)
		}
	}
}

// Release closes what is open until the next Write.
func (w *Writer) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letGo()
}

func (w *Writer) letGo() {
	for _, f := range []*os.File{w.file, w.dir} {
		if f != nil {
			f.Close()
		}
	}
	w.file, w.dir = nil, nil
}

// texts are reused: a chunk of empty lines becomes thirty times as long.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// stamp appends the lines, each after the time.
func stamp(text []byte, now time.Time, lines []byte) []byte {
	var prefix [len(layout) + 1]byte
	at := append(now.UTC().AppendFormat(prefix[:0], layout), ' ')
	for line := range bytes.Lines(lines) {
		text = append(append(text, at...), line...)
	}
	return text
}

const layout = "2006-01-02T15:04:05.000000000Z"

// append runs with the user's rights, as everything below does.
func (w *Writer) append(now time.Time, text []byte) error {
	if err := w.ensure(); err != nil {
		return err
	}
	if w.size > 0 && w.size+int64(len(text)) > FileSize {
		if err := w.rotate(now); err != nil {
			return err
		}
	}
	n, err := w.file.Write(text)
	if err != nil && n > 0 {
		// Half a line would be taken for a whole one, and the next one for its rest.
		err = errors.Join(err, w.file.Truncate(w.size))
	}
	if err != nil {
		return err
	}
	w.size += int64(n)
	return nil
}

// ensure opens the file, anew if somebody removed it.
func (w *Writer) ensure() error {
	if w.file != nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(w.file.Fd()), &st); err == nil && st.Nlink > 0 {
			return nil
		}
		w.letGo()
	}
	dir, err := w.Place.open(true)
	if err != nil {
		return err
	}
	w.dir = dir
	return w.openCurrent()
}

func (w *Writer) openCurrent() error {
	file, err := openIn(w.dir, current, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT)
	if err != nil {
		return err
	}
	w.file = file
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w.size = info.Size()
	if w.size == 0 {
		return nil
	}
	// The machine went down in the middle of a line.
	var last [1]byte
	if _, err := file.ReadAt(last[:], w.size-1); err != nil || last[0] == '\n' {
		return err
	}
	n, err := file.Write([]byte{'\n'})
	w.size += int64(n)
	return err
}

// rotate makes the current file an archive and removes the oldest ones.
func (w *Writer) rotate(now time.Time) error {
	dir := int(w.dir.Fd())
	if err := unix.Renameat(dir, current, dir, archiveName(now)); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "rotate", Path: w.Place.Dir, Err: err}
	}
	w.file.Close()
	w.file = nil
	names, err := archives(w.dir)
	if err != nil {
		return err
	}
	for _, name := range names[:max(0, len(names)-Archives)] {
		if err := unix.Unlinkat(dir, name, 0); err != nil && err != unix.ENOENT {
			return &os.PathError{Op: "remove", Path: name, Err: err}
		}
	}
	return w.openCurrent()
}
