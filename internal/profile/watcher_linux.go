package profile

import (
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// Watcher tells when something is added to, or taken from, the directory of the profiles. Where the kernel cannot
// tell, as on many network file systems, it never does: who must know looks from time to time as well. Its life:
// Watch, Arm as often as one looks, Close; they are called by one goroutine.
type Watcher struct {
	// Changes receives after a change; several may be one.
	Changes <-chan struct{}

	home   *Home
	fd     int
	events *os.File
	done   chan struct{}
}

// Watch makes a watcher, which is not armed yet.
func (h *Home) Watch() *Watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return &Watcher{}
	}
	changes := make(chan struct{}, 1)
	w := &Watcher{Changes: changes, home: h, fd: fd, events: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{})}
	go w.report(changes)
	return w
}

// report says of everything that the kernel tells only that it did.
func (w *Watcher) report(changes chan<- struct{}) {
	defer close(w.done)
	buf := make([]byte, 16<<10)
	for {
		if _, err := w.events.Read(buf); err != nil {
			return
		}
		select {
		case changes <- struct{}{}:
		default: // it was said, and not heard yet
		}
	}
}

// Arm watches the directory that is there now; it may have come, or come anew, since the last time.
func (w *Watcher) Arm() {
	if w.events == nil {
		return
	}
	// That it cannot be watched is no error: see above.
	_ = w.home.below(directory, func(dir int) error {
		_, err := unix.InotifyAddWatch(w.fd, rooted.PathOf(dir), unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_ONLYDIR)
		return err
	})
}

// Close ends the watching.
func (w *Watcher) Close() {
	if w.events != nil {
		w.events.Close()
		<-w.done
	}
}
