package files

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// watched are the events that say that something is another than before.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_EXCL_UNLINK

// Watch is a file or directory whose changes are told. It is made by OpenWatch, with the rights of its caller's
// thread, and needs no rights from then on. The kernel holds back a bounded number of events for a caller that
// is slow, and then says that some are lost.
type Watch struct{ events *os.File }

// OpenWatch begins to watch.
func OpenWatch(req wire.File) (*Watch, error) {
	root, err := openRoot(req)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s := &service{req: req, root: root}
	place, st, err := s.look(s.path(), 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return nil, errKind
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	// By its descriptor: the path may lead elsewhere by now.
	if _, err := unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(place), watched); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Watch{os.NewFile(uintptr(fd), "inotify")}, nil
}

// Run says that the watch has begun and then sends what happens, until the caller is gone or there is nothing
// left to watch. It closes the stream.
func (w *Watch) Run(stream io.Closer, in *wire.Reader, out *wire.Writer) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, err := in.Next(); err != nil {
				w.events.Close() // ends the read below
				return
			}
		}
	}()
	if out.Write(wire.TypeOK, nil) == nil {
		w.send(out)
	}
	w.events.Close()
	stream.Close()
	<-gone
}

func (w *Watch) send(out *wire.Writer) {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.events.Read(buf)
		if err != nil {
			return
		}
		events, last := parseEvents(buf[:n])
		if len(events) > 0 && out.WriteMessage(wire.TypeFileEvents, events) != nil {
			return
		}
		if last {
			_ = out.WriteMessage(wire.TypeFileEnd, wire.FileResult{})
			return
		}
	}
}

// parseEvents reads what the kernel wrote. Last says that nothing more will come.
func parseEvents(buf []byte) (events []wire.FileEvent, last bool) {
	for len(buf) >= unix.SizeofInotifyEvent {
		raw := (*unix.InotifyEvent)(unsafe.Pointer(&buf[0]))
		end := unix.SizeofInotifyEvent + int(raw.Len)
		if end > len(buf) {
			return events, last
		}
		if raw.Mask&unix.IN_IGNORED != 0 {
			last = true
		} else {
			name, _, _ := bytes.Cut(buf[unix.SizeofInotifyEvent:end], []byte{0})
			events = append(events, wire.FileEvent{Name: bytes.Clone(name), Mask: raw.Mask})
		}
		buf = buf[end:]
	}
	return events, last
}
